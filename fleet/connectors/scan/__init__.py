"""Looking for secrets in the files of an image's layers, those that no longer show included."""
