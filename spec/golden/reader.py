"""Reads snapshots with cbor2 and lists all that is in them, one thing a line.

Each argument is a file with a snapshot as hexadecimal text. This is a reader of
its own, written after the description of the format: it shares no code with
the module, so that both can be compared.
"""
import math
import struct
import sys

import cbor2

TYPED = {64: "B", 69: "<H", 70: "<I", 72: "b", 77: "<h", 78: "<i", 79: "<q", 86: "<d"}


def typed(item):
    code = TYPED[item.tag]
    size = struct.calcsize(code)
    data = item.value
    assert len(data) % size == 0, "no whole number of elements"
    return [struct.unpack(code, data[i:i + size])[0] for i in range(0, len(data), size)]


def members(item):
    """A set of slots: a bit string or a list."""
    if isinstance(item, bytes):
        return [i for i in range(8 * len(item)) if item[i // 8] >> (i % 8) & 1]
    return typed(item)


def column(item, rows):
    """The values of a column, whatever its form."""
    if isinstance(item, bytes):
        assert len(item) == (rows + 7) // 8
        return [bool(item[i // 8] >> (i % 8) & 1) for i in range(rows)]
    values = item if isinstance(item, (list, tuple)) else typed(item)
    assert len(values) == rows, "a column of another length"
    return values


def raw(text):
    """The bytes of a string. Byte strings are there for what is no UTF-8."""
    if isinstance(text, str):
        return text.encode("utf-8")
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return text
    raise AssertionError("text in a byte string")


def show(value):
    if value is None:
        return "n"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, int):
        return "i%d" % value
    if isinstance(value, float):
        return "dnan" if math.isnan(value) else "d" + struct.pack(">d", value).hex()
    if isinstance(value, (str, bytes)):
        return "s" + raw(value).hex()
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(show(item) for item in value) + "]"
    pairs = sorted((raw(key).hex(), show(item)) for key, item in value.items())
    return "{" + ",".join(key + ":" + item for key, item in pairs) + "}"


def header(parts):
    for trait in parts["traits"]:
        fields = "".join(" %s %s" % (raw(n).hex(), t) for n, t in trait["fields"])
        print("trait %s %s %d %d%s" % (raw(trait["name"]).hex(), trait["kind"],
                                       trait["version"], trait["rows"], fields))
    print("meta", show(parts["meta"]) if "meta" in parts else "-")


def trait_rows(trait, part):
    slots, columns = members(part[0]), part[1]
    assert len(slots) == trait["rows"]
    values = [column(c, len(slots)) for c in columns]
    for row, slot in enumerate(slots):
        print("row %s %d %s" % (raw(trait["name"]).hex(), slot,
                                " ".join(show(v[row]) for v in values)))


def relation_rows(trait, part):
    sources, targets, columns = typed(part[0]), typed(part[1]), part[2]
    assert len(sources) == len(targets) == trait["rows"]
    values = [column(c, len(sources)) for c in columns]
    for row, source in enumerate(sources):
        print("pair %s %d %d %s" % (raw(trait["name"]).hex(), source, targets[row],
                                    " ".join(show(v[row]) for v in values)))


def entities(part):
    print("used", part["used"])
    print("alive", *members(part["alive"]))
    print("excluded", *members(part["excluded"]))
    print("free", *typed(part["free"]))
    print("generations", *typed(part["generations"]))


def snapshot(data):
    outer = cbor2.loads(data)
    if isinstance(outer, cbor2.CBORTag):
        assert outer.tag == 55799
        outer = outer.value
    name, version, head, body, digest = outer
    assert (name, version, len(digest)) == ("ecsser-snapshot", 1, 8)
    print("digest", digest[::-1].hex())
    header(head)
    body = cbor2.loads(body)
    entities(body["entities"])
    relations = [t for t in head["traits"] if t["kind"].startswith("pair")]
    traits = [t for t in head["traits"] if not t["kind"].startswith("pair")]
    assert len(traits) == len(body["traits"]) and len(relations) == len(body["relations"])
    for trait, part in zip(traits, body["traits"]):
        trait_rows(trait, part)
    for trait, part in zip(relations, body["relations"]):
        relation_rows(trait, part)
    print("data", show(body["data"]))


for path in sys.argv[1:]:
    with open(path, encoding="ascii") as file:
        print("file", path)
        snapshot(bytes.fromhex(file.read()))
