"""Ways to a target: local, ssh, container, image. The only rooms that touch one."""
