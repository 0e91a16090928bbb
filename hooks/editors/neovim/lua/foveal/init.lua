-- Owns the options, and puts the parts together.

local client = require("foveal.client")
local commands = require("foveal.commands")
local report = require("foveal.report")

local M = {}

-- `socket`: the daemon's, if not the user's own; none is started for it then.
-- `command`: the program that starts a daemon where none runs. `start`: whether it is run.
-- `unsaved`: whether the daemon is told the text of buffers that aren't saved, up to `unsaved_max_bytes`
-- and `unsaved_delay_ms` after the last change.
M.defaults = {
  socket = nil,
  command = "foveal",
  start = true,
  unsaved = true,
  unsaved_delay_ms = 400,
  unsaved_max_bytes = 1024 * 1024,
}

--- Take options over the defaults, and begin. May be called again, with other options.
function M.setup(options)
  local chosen = vim.tbl_extend("force", M.defaults, options or {})
  client.setup(chosen)
  report.setup(chosen)
  commands.setup()
end

return M
