"""pi's base configuration: keybindings, settings to start from, and the loader of its variables."""
