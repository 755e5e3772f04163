"""Files that commands read and write, whole or not at all."""
