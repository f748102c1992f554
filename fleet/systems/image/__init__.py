"""An image itself: its configuration, its layers, its user, and what hides its files."""
