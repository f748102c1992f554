"""What holds for every test."""

pytest_plugins = ["pytester", "support.absent", "support.ssh_servers"]
