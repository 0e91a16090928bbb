"""foveal: the right context for coding agents, sharp where they work, wide everywhere else.

Python runs this file before any other of the package, in each process: the one place that keeps dependencies
from reporting to their makers.
"""

import os

from .ipc.version import __version__ as __version__

# From its import on onnxruntime reports to Microsoft: it keeps a device id and a database in
# ~/.cache/Microsoft and `.ses` in the temporary folder, and looks up mobile.events.data.microsoft.com.
# What a user sets is for other programs: foveal has no switch by which a library reports anything.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
