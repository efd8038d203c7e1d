"""Can buffers wait for each other in a circle?"""

from pcn.topologies.model import Endpoint, Topology


def buffers_can_wait_in_a_circle(topology: Topology) -> bool:
    """Whether the links that packets of any two hosts may take, one after the other, form a cycle
    (Dally and Seitz, 1987: without one there is no deadlock)."""
    after: dict[Endpoint, set[Endpoint]] = {}
    for dst in topology.hosts:
        for src in topology.hosts:
            if src == dst:
                continue
            todo = [Endpoint(src.name, 0)]
            seen = set(todo)
            while todo:
                end = todo.pop()
                node = topology.peer(end.node, end.port).node
                if node == dst.name:
                    continue
                for port in topology.next_hops(node, dst.name):
                    following = Endpoint(node, port)
                    after.setdefault(end, set()).add(following)
                    if following not in seen:
                        seen.add(following)
                        todo.append(following)
    return _has_cycle(after)


def _has_cycle(after: dict[Endpoint, set[Endpoint]]) -> bool:
    """Those that nothing follows are taken away until none is left, or a cycle."""
    left = {end: set(following) for end, following in after.items()}
    while left:
        last = [end for end, following in left.items() if not following & left.keys()]
        if not last:
            return True
        for end in last:
            del left[end]
    return False
