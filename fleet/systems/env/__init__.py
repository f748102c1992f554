"""What the shell that launches pi really exports."""
