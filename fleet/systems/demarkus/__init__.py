"""demarkus: the pi packages of its memory and its knowledge, and what they stand on."""
