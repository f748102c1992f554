"""The kinds of installer: one module each, found here by the body of the item they bring."""

from fleet.installers.decision import Kind
from fleet.installers.items import (
    BlockBody,
    Body,
    ComposeBody,
    ConfigBody,
    FileBody,
    GitBody,
    LinkBody,
    MergeBody,
    PackageBody,
    ServiceBody,
    TreeBody,
)
from fleet.installers.kinds.block import BlockKind
from fleet.installers.kinds.compose import ComposeKind
from fleet.installers.kinds.config import ConfigKind
from fleet.installers.kinds.file import FileKind
from fleet.installers.kinds.git import GitKind
from fleet.installers.kinds.link import LinkKind
from fleet.installers.kinds.merge import MergeKind
from fleet.installers.kinds.package import PackageKind
from fleet.installers.kinds.service import ServiceKind
from fleet.installers.kinds.tree import TreeKind

KINDS: dict[type[Body], Kind] = {
    LinkBody: LinkKind(),
    FileBody: FileKind(),
    BlockBody: BlockKind(),
    MergeBody: MergeKind(),
    TreeBody: TreeKind(),
    GitBody: GitKind(),
    PackageBody: PackageKind(),
    ComposeBody: ComposeKind(),
    ServiceBody: ServiceKind(),
    ConfigBody: ConfigKind(),
}
