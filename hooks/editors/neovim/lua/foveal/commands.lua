-- Owns the commands: a context in a scratch buffer, results in the quickfix list, errors in one line.

local client = require("foveal.client")
local files = require("foveal.files")
local report = require("foveal.report")

local M = {}

local RESULTS = 50

local function say(text, level)
  vim.notify("foveal: " .. text:gsub("%s+", " "), level)
end

--- Ask, and show an error as one message; `behind` gets the result.
local function ask(method, params, behind)
  report.flush()
  client.request(method, params, function(problem, result)
    if problem then
      local fine = type(problem) == "table"
      local code = fine and problem.code or "internal"
      say(("%s (%s)"):format(fine and problem.message or tostring(problem), code), vim.log.levels.ERROR)
      return
    end
    behind(result)
    if #(result.degraded or {}) > 0 then
      say(table.concat(result.degraded, "; "), vim.log.levels.WARN)
    end
  end)
end

local function show(text)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(text, "\n", { plain = true }))
  vim.bo[buffer].bufhidden = "wipe"
  vim.bo[buffer].modifiable = false
  vim.cmd("botright split")
  vim.api.nvim_win_set_buf(0, buffer)
  vim.bo[buffer].filetype = "markdown"
end

--- Show the context for the file in the current window, and for a prompt if one is given.
function M.context(prompt)
  local path, root = files.of_buffer(0)
  ask("GetContext", {
    cwd = root or files.current_root(),
    focus_paths = path and { path } or nil,
    prompt = prompt ~= "" and prompt or nil,
  }, function(result)
    show(result.context)
  end)
end

local function entry(project, result)
  local lines = vim.split(result.snippet, "\n", { plain = true })
  local line = lines[result.line - result.snippet_line + 1] or result.symbol or ""
  return { filename = project .. "/" .. result.path, lnum = result.line, col = 1, text = vim.trim(line) }
end

--- Put the places that answer a question into the quickfix list, and open it.
function M.query(words)
  ask("Query", { cwd = files.current_root(), query = words, limit = RESULTS }, function(result)
    local items = vim.tbl_map(function(one)
      return entry(result.project, one)
    end, result.results)
    if #items == 0 then
      return say(result.hint or "nothing was found", vim.log.levels.INFO)
    end
    vim.fn.setqflist({}, " ", { title = "foveal: " .. words, items = items })
    vim.cmd("botright copen")
  end)
end

--- Define the commands.
function M.setup()
  vim.api.nvim_create_user_command("FovealContext", function(command)
    M.context(command.args)
  end, { nargs = "*", desc = "Show the context for this file, and for a prompt" })
  vim.api.nvim_create_user_command("FovealQuery", function(command)
    M.query(command.args)
  end, { nargs = "+", desc = "Find places in the project, into the quickfix list" })
end

return M
