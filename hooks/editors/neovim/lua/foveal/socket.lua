-- Owns where the daemon's socket lies and whether it is the user's alone; connects to nothing.

local uv = vim.uv or vim.loop

local M = {}

local INFO_MAX_BYTES = 64 * 1024

local function is_absolute(path)
  return path ~= nil and path:sub(1, 1) == "/"
end

local function state_folder()
  local own = os.getenv("FOVEAL_STATE_DIR")
  if own and own ~= "" then
    return vim.fn.fnamemodify(own, ":p"):gsub("(.)/$", "%1")
  end
  local base = os.getenv("XDG_STATE_HOME")
  if is_absolute(base) then
    return base .. "/foveal"
  end
  local mac = uv.os_uname().sysname == "Darwin"
  return uv.os_homedir() .. (mac and "/Library/Application Support" or "/.local/state") .. "/foveal"
end

--- Return the socket of the daemon that daemon.json names, if it is the user's own file and the socket exists.
local function running_socket()
  local path = state_folder() .. "/daemon.json"
  local status = uv.fs_lstat(path)
  if not status or status.type ~= "file" or status.uid ~= uv.getuid() or status.size > INFO_MAX_BYTES then
    return nil
  end
  local file = io.open(path, "rb")
  if not file then
    return nil
  end
  local fine, info = pcall(vim.json.decode, file:read("*a"))
  file:close()
  local found = fine and type(info) == "table" and info.socket
  return type(found) == "string" and is_absolute(found) and uv.fs_lstat(found) and found or nil
end

local function default_socket()
  local runtime = os.getenv("XDG_RUNTIME_DIR")
  local status = is_absolute(runtime) and uv.fs_stat(runtime)
  if status and status.type == "directory" and status.uid == uv.getuid() and #runtime < 74 then
    return runtime .. "/foveal/foveal.sock"
  end
  local folder = "foveal-" .. uv.getuid()
  local temporary = os.getenv("TMPDIR")
  if is_absolute(temporary) and uv.fs_stat(temporary) and #temporary + #folder < 81 then
    return temporary:gsub("(.)/$", "%1") .. "/" .. folder .. "/foveal.sock"
  end
  return "/tmp/" .. folder .. "/foveal.sock"
end

--- Return the path of the socket, and whether it was named, so that no daemon is started for it.
function M.find(named)
  local explicit = named or os.getenv("FOVEAL_SOCKET")
  if explicit and explicit ~= "" then
    return vim.fn.fnamemodify(explicit, ":p"), true
  end
  return running_socket() or default_socket(), false
end

--- Say what is wrong with a socket that another user could have put there or could use; nil if it is fine.
-- The second value tells whether there is a socket at all.
function M.problem(path)
  local status = uv.fs_lstat(path)
  if not status then
    return nil, false
  end
  local folder = path:match("^(.*)/[^/]*$")
  for _, place in ipairs({ folder, path }) do
    local one = uv.fs_lstat(place)
    if not one or one.uid ~= uv.getuid() or one.mode % 64 ~= 0 then
      return place .. " isn't yours alone; see: foveal doctor", true
    end
  end
  if status.type ~= "socket" then
    return path .. " is not a socket; see: foveal doctor", true
  end
  return nil, true
end

return M
