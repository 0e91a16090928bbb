-- Owns what the daemon is told of buffers: focus, saves, ends, and text that isn't saved yet.

local client = require("foveal.client")
local files = require("foveal.files")

local uv = vim.uv or vim.loop

local M = {}

-- How long leaving Neovim may take for the daemon to be told which texts are gone.
local LEAVE_MS = 200

local options = {}
local timers = {} -- of buffers with changes that weren't told yet
local told = {} -- path and project of buffers whose text the daemon has

local function notify(path, root, event, text)
  client.notify("NotifyFile", { cwd = root, path = path, event = event, text = text })
end

local function cancel(buffer)
  local timer = timers[buffer]
  timers[buffer] = nil
  if timer then
    timer:stop()
    timer:close()
  end
end

--- Return the text of a buffer as it would be saved; nil if it is too large, or no text.
local function text_of(buffer)
  local count = vim.api.nvim_buf_line_count(buffer)
  if vim.bo[buffer].binary or vim.api.nvim_buf_get_offset(buffer, count) > options.unsaved_max_bytes then
    return nil
  end
  local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
  text = vim.bo[buffer].endofline and text .. "\n" or text
  return vim.fn.iconv(text, "utf-8", "utf-8") == text and text or nil
end

local function tell_text(buffer)
  cancel(buffer)
  local path, root = files.of_buffer(buffer)
  if not path or not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  local text = vim.bo[buffer].modified and text_of(buffer) or nil
  if text then
    told[buffer] = { path = path, root = root }
    notify(path, root, "changed", text)
  elseif told[buffer] then
    told[buffer] = nil
    notify(path, root, "changed") -- undone, read again, or grown too large: the file counts
  end
end

local function changed(event)
  if not options.unsaved or not files.of_buffer(event.buf) then
    return
  end
  local timer = timers[event.buf] or uv.new_timer()
  timers[event.buf] = timer
  timer:start(
    options.unsaved_delay_ms,
    0,
    vim.schedule_wrap(function()
      if timers[event.buf] == timer then
        tell_text(event.buf)
      end
    end)
  )
end

local function focused(event)
  local path, root = files.of_buffer(event.buf)
  if path then
    notify(path, root, "focused")
  end
end

local function saved(event)
  local path, root = files.of_buffer(event.buf)
  local written = vim.fn.fnamemodify(event.file, ":p")
  if not path or (written ~= path and uv.fs_realpath(written) ~= uv.fs_realpath(path)) then
    return -- written under another name: the buffer is as unsaved as before
  end
  cancel(event.buf)
  told[event.buf] = nil
  notify(path, root, "changed")
end

local function closed(event)
  cancel(event.buf)
  local path, root = files.of_buffer(event.buf)
  local last = told[event.buf]
  told[event.buf] = nil
  if last and last.path ~= path then
    notify(last.path, last.root, "closed") -- it got another name meanwhile
  end
  if path then
    notify(path, root, "closed")
  end
end

local function leave()
  for _, last in pairs(told) do
    notify(last.path, last.root, "closed")
  end
  told = {}
  vim.wait(LEAVE_MS, client.is_flushed, 5)
  client.close()
end

--- Tell what isn't told yet, so that an answer to the next request knows it.
function M.flush()
  for _, buffer in ipairs(vim.tbl_keys(timers)) do
    tell_text(buffer)
  end
end

--- Begin to follow buffers, with the options in the place of earlier ones.
function M.setup(chosen)
  options = chosen
  local group = vim.api.nvim_create_augroup("foveal", { clear = true })
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, callback = callback })
  end
  on({ "BufEnter", "FocusGained" }, focused)
  on("BufWritePost", saved)
  on({ "TextChanged", "TextChangedI", "FileChangedShellPost" }, changed)
  on("BufUnload", closed)
  on("VimLeavePre", leave)
end

return M
