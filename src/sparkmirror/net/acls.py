"""Rights on topics: read and added. A cluster without an authorizer has none, and says so."""

from __future__ import annotations

from collections.abc import Sequence

from kafka.protocol.admin import CreateAclsRequest, DescribeAclsRequest

from sparkmirror.errors import ProtocolError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.denial import raise_refused
from sparkmirror.protocol import codes
from sparkmirror.topology.acls import Acl
from sparkmirror.topology.right import CLUSTER, Right

_TOPIC = 2
_ANY = 1
AT_ONCE = 500  # rights a request


def describe_topic_acls(cluster: Cluster, needs: str = "DESCRIBE") -> list[Acl] | None:
    """All rights on topics; None if the cluster has no authorizer. `needs`: what who asks must be allowed there."""
    request = DescribeAclsRequest(
        resource_type_filter=_TOPIC,
        resource_name_filter=None,
        pattern_type_filter=_ANY,
        principal_filter=None,
        host_filter=None,
        operation=_ANY,
        permission_type=_ANY,
    )
    answer = cluster.call_any(request)
    if answer.error_code == codes.SECURITY_DISABLED:
        return None
    what = f"cluster {cluster.address.alias}: rights (ACLs) can't be read"
    raise_refused(cluster.address, what, answer.error_code, Right(needs, CLUSTER))
    return [
        Acl(found.resource_name, found.pattern_type, acl.principal, acl.host, acl.operation, acl.permission_type)
        for found in answer.resources
        if found.resource_type == _TOPIC
        for acl in found.acls
    ]


def create_topic_acls(cluster: Cluster, acls: Sequence[Acl]) -> None:
    kind = CreateAclsRequest.AclCreation
    for first in range(0, len(acls), AT_ONCE):
        group = acls[first : first + AT_ONCE]
        creations = [
            kind(
                resource_type=_TOPIC,
                resource_name=acl.name,
                resource_pattern_type=acl.pattern,
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission,
            )
            for acl in group
        ]
        results = cluster.call_controller(CreateAclsRequest(creations=creations)).results
        if len(results) != len(group):
            raise ProtocolError(f"{len(group)} rights were to be added, and {len(results)} answers came")
        for acl, result in zip(group, results, strict=True):
            what = f"a right (ACL) on topic {acl.name} for {acl.principal} can't be added"
            raise_refused(cluster.address, what, result.error_code, Right("ALTER", CLUSTER))
