"""What packets select: a run through programs/indirect.p4 that any P4Runtime switch can be put
through."""

import random

from p4rt_client import Client, Names

from pcn.base.p4rt import p4r

CRC16, CRC32, CSUM, IDENTITY, PLAIN, SHARED_ONE, SHARED_TWO, SHARED_BOTH = range(8)
TABLES = (
    "crc16_table",
    "crc32_table",
    "csum_table",
    "identity_table",
    "plain_table",
    "shared_one",
    "shared_two",
)
PROBE = 18  # bytes


class Probes:
    """Writes and probes for one switch."""

    def __init__(self, client: Client, names: Names):
        self.client, self.names = client, names

    def profile(self, name: str) -> int:
        return self.names.id("action_profiles", name)

    def member(
        self, profile: str, number: int, result: int | None = None
    ) -> p4r.ActionProfileMember:
        message = p4r.ActionProfileMember(action_profile_id=self.profile(profile), member_id=number)
        if result is not None:
            message.action.CopyFrom(self.set(result).action)
        return message

    def group(
        self, profile: str, number: int, members: dict[int, int] | None = None, size: int = 0
    ) -> p4r.ActionProfileGroup:
        message = p4r.ActionProfileGroup(
            action_profile_id=self.profile(profile), group_id=number, max_size=size
        )
        for member, weight in (members or {}).items():
            message.members.add(member_id=member, weight=weight)
        return message

    def set(self, result: int) -> p4r.TableAction:
        """Action `set`, for 0 `keep`."""
        return (
            self.names.action("set", result=result, more=result * 257)
            if result
            else self.names.action("keep")
        )

    def oneshot(self, *actions: tuple[int, int]) -> p4r.TableAction:
        """A set of actions: result and weight of each."""
        message = p4r.TableAction()
        for result, weight in actions:
            item = message.action_profile_action_set.action_profile_actions.add(weight=weight)
            item.action.CopyFrom(self.set(result).action)
        return message

    def entry(self, table: int, key: int, action: p4r.TableAction | None = None) -> p4r.TableEntry:
        keys = {CRC32: (key, 255), CSUM: (key, 8)}
        priority = {"priority": 1} if table == CRC32 else {}
        return self.names.entry(TABLES[table], {"key": keys.get(table, key)}, action, **priority)

    def probe(self, table: int, key: int, a: int = 0, b: int = 0, d: int = 0) -> tuple[int, int]:
        """Result and trace of one packet."""
        head = (
            bytes([table, key])
            + a.to_bytes(2, "big")
            + (b << 3).to_bytes(2, "big")
            + d.to_bytes(8, "big")
        )
        self.client.send(packet=p4r.PacketOut(payload=head + bytes(4)))
        frame = self.client.receive().packet.payload
        assert len(frame) == PROBE
        assert frame[:14] == head
        assert frame[15:17] == bytes([frame[14]]) * 2
        return frame[14], frame[17]

    def probes(self, rng: random.Random, table: int, key: int, n: int = 12) -> list[int]:
        """Results of random packets."""
        return [
            self.probe(table, key, rng.getrandbits(16), rng.getrandbits(13), rng.getrandbits(64))[0]
            for _ in range(n)
        ]


def manual(p: Probes, seed: int, steps: int) -> list[list[int]]:
    """Members and groups that come, change and go; after each step, what packets select."""
    rng = random.Random(seed)
    members: dict[int, int] = {}
    groups: dict[int, dict[int, int]] = {}
    results = []
    for step in range(steps):
        used = {m for weights in groups.values() for m in weights}
        operation = rng.choice(
            ["member", "member", "member", "change", "drop", "group", "group", "regroup", "ungroup"]
        )
        if operation == "member" and len(members) < 12:
            number = rng.choice([i for i in range(1, 99) if i not in members])
            members[number] = step + 1
            p.client.insert(p.member("by_crc16", number, members[number]))
        elif operation == "change" and members:
            number = rng.choice(sorted(members))
            members[number] = step + 1
            p.client.modify(p.member("by_crc16", number, members[number]))
        elif operation == "drop" and set(members) - used:
            number = rng.choice(sorted(set(members) - used))
            del members[number]
            p.client.delete(p.member("by_crc16", number))
        elif operation in ("group", "regroup") and members:
            chosen = rng.sample(sorted(members), min(len(members), rng.randint(1, 4)))
            weights = {number: rng.choice([1, 1, 2]) for number in chosen}
            if operation == "group" and len(groups) < 5:
                number = rng.choice([i for i in range(1, 9) if i not in groups])
                p.client.insert(p.group("by_crc16", number, weights, 8))
                action = p4r.TableAction(action_profile_group_id=number)
                p.client.insert(p.entry(CRC16, number, action))
                groups[number] = weights
            elif groups:
                number = rng.choice(sorted(groups))
                p.client.modify(p.group("by_crc16", number, weights, 8))
                groups[number] = weights
        elif operation == "ungroup" and groups:
            number = rng.choice(sorted(groups))
            p.client.delete(p.entry(CRC16, number))
            p.client.delete(p.group("by_crc16", number))
            del groups[number]
        results += [p.probes(rng, CRC16, number) for number in sorted(groups)]
    return results


def oneshots(p: Probes, seed: int, steps: int) -> list[list[int]]:
    """Sets of actions that come, change and go, in two tables."""
    rng = random.Random(seed)
    entries: set[tuple[int, int]] = set()
    results = []
    for step in range(steps):
        table, key = rng.choice([CRC32, CSUM]), rng.randint(1, 3)
        action = p.oneshot(
            *((step + 10 * i + 1, rng.randint(1, 3)) for i in range(rng.randint(1, 4)))
        )
        if (table, key) not in entries:
            p.client.insert(p.entry(table, key, action))
            entries.add((table, key))
        elif rng.random() < 0.5:
            p.client.modify(p.entry(table, key, action))
        else:
            p.client.delete(p.entry(table, key))
            entries.remove((table, key))
        results += [p.probes(rng, *entry) for entry in sorted(entries)]
    return results


def identity(p: Probes) -> list[list[int]]:
    """The low 32 bits of a hash of 64, modulo the group's size."""
    rng = random.Random(3)
    p.client.insert(p.entry(IDENTITY, 1, p.oneshot((1, 1), (2, 1), (3, 5))))
    return [p.probes(rng, IDENTITY, 1, 40)]


def plain(p: Probes) -> list[list[int]]:
    """An action profile without a selector; and which branch a program takes after a hit, a miss
    and an action."""
    for number in (3, 1):
        p.client.insert(p.member("plain_profile", number, 10 * number))
        p.client.insert(p.entry(PLAIN, number, p4r.TableAction(action_profile_member_id=number)))
    p.client.insert(p.entry(CRC32, 201, p.oneshot((0, 1))))
    p.client.insert(p.entry(CRC32, 202, p.oneshot((7, 1))))
    results = [[p.probe(PLAIN, key)[0] for key in (1, 2, 3)]]
    return [*results, *([*p.probe(CRC32, key)] for key in (201, 202, 203)), [*p.probe(CRC16, 255)]]


def run(client: Client, names: Names) -> dict[str, list[list[int]]]:
    """The whole run on a switch with the program and nothing else; the results by part."""
    p = Probes(client, names)
    return {
        "manual": manual(p, 1, 80),
        "oneshots": oneshots(p, 2, 50),
        "identity": identity(p),
        "plain": plain(p),
    }
