"""Images on disk, read without an engine and without unpacking: layouts, archives, layers."""
