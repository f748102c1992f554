"""What `fleet demo` shows: hosts, images and a palace in a scratch folder."""
