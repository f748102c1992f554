"""What a container tells of the image that it was made of."""

from fleet.facts.running import ContainerFact


def older_image(container: ContainerFact) -> str:
    """Tell that the name of a container's image means another one today; empty where it does not.

    Where no image has the name any more, or that was not seen, nothing is told.
    """
    if container.image_now and container.image and container.image_now != container.image:
        return f"made of an older image than {container.image_name} is today"
    return ""
