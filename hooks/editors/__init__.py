"""What editors run: a plugin for Neovim, an extension for VS Code, and a language server for any editor."""
