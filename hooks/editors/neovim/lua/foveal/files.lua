-- Owns which buffers are files of a project, and of which one.

local uv = vim.uv or vim.loop

local M = {}

local roots = {}

local function nearest(folder, marker)
  while folder ~= "" do
    if uv.fs_stat(folder .. "/" .. marker) then
      return folder
    end
    folder = folder:match("^(.*)/[^/]*$") or ""
  end
end

--- Return the folder to name as `cwd` for a file: its project, as far as markers tell, else the current one.
-- Nil for a file that lies in no project, so that none is made of the folder that it happens to lie in.
function M.root_of(path)
  local folder = path:match("^(.*)/[^/]*$")
  if not folder then
    return nil
  end
  if not roots[folder] then
    roots[folder] = nearest(folder, ".foveal") or nearest(folder, ".git")
  end
  local current = uv.cwd()
  return roots[folder] or (vim.startswith(path, current .. "/") and current or nil)
end

--- Return path and project of a buffer; nil if it isn't a file, or in no project.
function M.of_buffer(buffer)
  if not vim.api.nvim_buf_is_valid(buffer) or vim.bo[buffer].buftype ~= "" then
    return nil
  end
  local path = vim.api.nvim_buf_get_name(buffer)
  if path:sub(1, 1) ~= "/" then
    return nil -- unnamed, or with a scheme
  end
  local root = M.root_of(path)
  if root then
    return path, root
  end
end

--- Return the project that a command is about: that of the buffer, else the current folder.
function M.current_root()
  local _, root = M.of_buffer(0)
  return root or M.root_of(uv.cwd() .. "/x") or uv.cwd()
end

return M
