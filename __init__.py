"""foveal: the right context for coding agents, sharp where they work, wide everywhere else."""

__version__ = "0.1.0"
