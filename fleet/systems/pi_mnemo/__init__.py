"""The system ``pi-mnemo``: memory in plain files, kept by pi itself."""
