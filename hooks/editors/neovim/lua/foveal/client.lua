-- Owns the connection to the daemon: requests with a callback, notifications, and nothing that waits.
--
-- Not Neovim's own RPC channel: its requests block the editor, it shows the daemon's errors, which are maps,
-- as "unknown error", and the peer of such a channel may call any function of the editor.

local socket = require("foveal.socket")

local uv = vim.uv or vim.loop

local M = {}

-- After a failed attempt notifications are dropped for so long, instead of trying again with each.
local PAUSE_MS = 5000
-- The daemon's own deadlines are shorter; this is for one that hangs.
local TIMEOUT_MS = 30000
-- Of a daemon that reads nothing more; notifications beyond that are dropped.
local UNSENT_MAX_BYTES = 16 * 1024 * 1024

local options = { start = false }
local connection = nil
local retry_at = 0
local started = false

--- Take the options, and leave a connection that was made with others.
function M.setup(chosen)
  options = chosen
  retry_at, started = 0, false
  M.close()
end

local function unavailable(message)
  return { code = "daemon_unavailable", message = message }
end

local function finish(waiting, problem, result)
  waiting.timer:stop()
  waiting.timer:close()
  vim.schedule(function()
    waiting.callback(problem, result)
  end)
end

--- End a connection; whoever waits on it gets `problem`.
local function drop(one, problem)
  if connection == one then
    connection = nil
  end
  if one.dropped then
    return
  end
  one.dropped = true
  if not one.pipe:is_closing() then
    one.pipe:close()
  end
  for id, waiting in pairs(one.waiting) do
    one.waiting[id] = nil
    finish(waiting, problem)
  end
end

local function take(one, message)
  if type(message) ~= "table" or message[1] ~= 1 then
    return -- an event or a request: this client asked for none
  end
  local waiting = one.waiting[message[2]]
  one.waiting[message[2]] = nil
  if waiting then
    local problem, result = message[3], message[4]
    finish(waiting, problem ~= vim.NIL and problem or nil, result ~= vim.NIL and result or nil)
  end
end

local function receive(one, data)
  local position = 1
  while position <= #data do
    local fine, message, behind = pcall(one.unpack, data, position)
    if not fine then
      return drop(one, unavailable("the daemon sent what can't be read; is it another version?"))
    end
    if message == nil then
      return
    end
    position, one.heard = behind, true
    take(one, message)
  end
end

local function write(one, frame)
  if not one.open then
    table.insert(one.queue, frame)
    return
  end
  one.writes = one.writes + 1
  one.pipe:write(frame, function(problem)
    one.writes = one.writes - 1
    if problem then
      drop(one, unavailable("the daemon went away; ask again"))
    end
  end)
end

local function opened(one)
  one.open = true
  one.pipe:read_start(function(problem, data)
    if problem or not data then
      local gone = unavailable("the daemon went away before it answered; ask again")
      gone.absent = not one.heard -- one that was just ending accepts, and says nothing
      return drop(one, gone)
    end
    receive(one, data)
  end)
  for _, frame in ipairs(one.queue) do
    write(one, frame)
  end
  one.queue = {}
end

--- Return the connection, or begin one; nil and an error where there is nothing to connect to.
local function connect()
  if connection then
    return connection
  end
  local path = socket.find(options.socket)
  local problem, exists = socket.problem(path)
  if problem or not exists then
    retry_at = uv.now() + PAUSE_MS
    return nil, unavailable(problem or "no daemon runs; start it with: foveal up"), not problem
  end
  local one = {
    pipe = uv.new_pipe(false),
    unpack = vim.mpack.Unpacker(),
    waiting = {},
    queue = {},
    writes = 0,
    next_id = 0,
  }
  connection = one
  one.pipe:connect(path, function(failed)
    if failed then
      retry_at = uv.now() + PAUSE_MS
      local refused = unavailable("no daemon listens on " .. path .. "; start it with: foveal up")
      refused.absent = true
      return drop(one, refused)
    end
    opened(one)
  end)
  return one
end

--- Run `foveal up`, which returns when the daemon listens; then `behind`, with an error if it failed.
local function start_daemon(behind)
  local said = {}
  local function note(_, lines)
    vim.list_extend(said, lines)
  end
  local fine, job = pcall(vim.fn.jobstart, { options.command, "up" }, {
    on_stderr = note,
    on_exit = function(_, code)
      retry_at = 0
      local text = vim.trim(table.concat(said, " "))
      behind(code ~= 0 and unavailable("the daemon didn't start: " .. text) or nil)
    end,
  })
  if not fine or job <= 0 then
    behind(unavailable("the program " .. options.command .. " isn't found; see: pip install foveal"))
  end
end

local function may_start()
  local _, explicit = socket.find(options.socket)
  return options.start and not explicit
end

local function send_request(method, params, callback)
  local one, problem, absent = connect()
  if not one then
    problem.absent = absent
    return vim.schedule(function()
      callback(problem)
    end)
  end
  one.next_id = one.next_id + 1
  local id, timer = one.next_id, uv.new_timer()
  one.waiting[id] = { callback = callback, timer = timer }
  timer:start(TIMEOUT_MS, 0, function()
    local waiting = one.waiting[id]
    one.waiting[id] = nil
    if waiting then
      finish(waiting, { code = "timeout", message = "the daemon doesn't answer; see: foveal status" })
    end
  end)
  write(one, vim.mpack.encode({ 0, id, method, { params } }))
end

--- Ask the daemon, which is started where none runs; `callback(error, result)` comes later, in the main loop.
-- An error is a table with `code` and `message`.
function M.request(method, params, callback)
  send_request(method, params, function(problem, result)
    if not (problem and problem.absent and may_start()) then
      return callback(problem, result)
    end
    started = true
    start_daemon(function(failed)
      if failed then
        return callback(failed)
      end
      send_request(method, params, callback)
    end)
  end)
end

--- Tell the daemon something; what can't be told is dropped. Where none runs, one is started once.
function M.notify(method, params)
  if not connection and uv.now() < retry_at then
    return
  end
  local one, _, absent = connect()
  if one then
    if one.pipe:get_write_queue_size() > UNSENT_MAX_BYTES or #one.queue > 100 then
      return
    end
    return write(one, vim.mpack.encode({ 2, method, { params } }))
  end
  if absent and may_start() and not started then
    started = true
    start_daemon(function(failed)
      if not failed then
        M.notify(method, params)
      end
    end)
  end
end

--- Return whether a connection is open.
function M.is_connected()
  return connection ~= nil and connection.open == true
end

--- Return whether nothing waits to be written.
function M.is_flushed()
  return not connection or (connection.open and connection.writes == 0)
end

--- Close the connection; the next request or notification makes a new one.
function M.close()
  if connection then
    drop(connection, unavailable("the connection was closed"))
  end
end

return M
