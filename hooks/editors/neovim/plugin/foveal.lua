-- Owns the plugin's start: commands and events, with the options in `vim.g.foveal`.

if vim.g.loaded_foveal then
  return
end
vim.g.loaded_foveal = true

require("foveal").setup(vim.g.foveal)
