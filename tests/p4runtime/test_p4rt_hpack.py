"""csrc/hpack.c beside another project's decoder, and within its bounds."""

from __future__ import annotations

import ctypes

import pytest
from hpack import Decoder, Encoder, HPACKError
from hypothesis import given, strategies as st

GOOD, MALFORMED, TOO_LARGE, NO_MEMORY = range(4)
MOST = 16384
TABLE_BYTES = 8192  # more than struct hpack has


class View(ctypes.Structure):
    """struct hpack_view."""

    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    def text(self) -> bytes:
        return ctypes.string_at(self.data, self.length) if self.length else b""


FIELD = ctypes.CFUNCTYPE(None, ctypes.c_void_p, View, View)


class Receiver:
    """A connection's table in C."""

    def __init__(self, library: ctypes.CDLL):
        self._library = library
        self._table = ctypes.create_string_buffer(TABLE_BYTES)
        library.hpack_init(self._table)

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_):
        self._library.hpack_free(self._table)

    def decode(self, block: bytes) -> tuple[int, list[tuple[bytes, bytes]]]:
        fields: list[tuple[bytes, bytes]] = []

        def field(_of: int, name: View, value: View):
            fields.append((name.text(), value.text()))

        block_size = ctypes.c_size_t(len(block))
        status = self._library.hpack_decode(
            self._table, block, block_size, ctypes.c_uint32(MOST), FIELD(field), None
        )
        return status, fields


def reference():
    decoder = Decoder(max_header_list_size=MOST)
    decoder.max_allowed_table_size = 4096
    return decoder


NAMES = st.sampled_from([b":path", b":method", b"te", b"grpc-timeout", b"x"]) | st.binary(
    min_size=1, max_size=40
)
VALUES = st.sampled_from([b"", b"POST", b"trailers", b"/p4.v1.P4Runtime/Write"]) | st.binary(
    max_size=300
)
BLOCKS = st.lists(
    st.tuples(
        st.lists(st.tuples(NAMES, VALUES, st.booleans()), max_size=12),
        st.booleans(),
        st.none() | st.integers(0, 4096),
    ),
    max_size=8,
)


@given(blocks=BLOCKS)
def test_blocks_of_a_connection_are_read_as_they_were_written(library: ctypes.CDLL, blocks):
    """With Huffman's code and without, fields that are kept and that aren't, tables that change."""
    encoder = Encoder()
    with Receiver(library) as receiver:
        for fields, huffman, size in blocks:
            if size is not None:
                encoder.header_table_size = size
            block = encoder.encode(fields, huffman)
            expected = [(name, value) for name, value, _ in fields]
            assert receiver.decode(block) == (GOOD, expected)


@given(blocks=st.lists(st.binary(max_size=200), max_size=6))
def test_any_octets_are_read_as_another_decoder_reads_them(library: ctypes.CDLL, blocks):
    decoder = reference()
    with Receiver(library) as receiver:
        for block in blocks:
            status, fields = receiver.decode(block)
            try:
                theirs = [(f[0], f[1]) for f in decoder.decode(block, raw=True)]
            except HPACKError:
                assert status != GOOD
                break
            assert status == GOOD
            assert fields == theirs


# RFC 7541, appendix C: the blocks of one connection, and what each stands for.
WITHOUT_HUFFMAN = (
    ("828684410f7777772e6578616d706c652e636f6d", {b":authority": b"www.example.com"}),
    ("828684be58086e6f2d6361636865", {b"cache-control": b"no-cache"}),
    (
        "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
        {b"custom-key": b"custom-value", b":path": b"/index.html"},
    ),
)
WITH_HUFFMAN = (
    ("828684418cf1e3c2e5f23a6ba0ab90f4ff", {b":authority": b"www.example.com"}),
    ("828684be5886a8eb10649cbf", {b"cache-control": b"no-cache"}),
    (
        "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        {b"custom-key": b"custom-value", b":authority": b"www.example.com"},
    ),
)


@pytest.mark.parametrize("blocks", [WITHOUT_HUFFMAN, WITH_HUFFMAN])
def test_examples_of_the_rfc_are_read(library: ctypes.CDLL, blocks):
    with Receiver(library) as receiver:
        for text, expected in blocks:
            status, fields = receiver.decode(bytes.fromhex(text))
            assert status == GOOD
            assert dict(fields).items() >= expected.items()
            assert dict(fields)[b":method"] == b"GET"


def literal(value: bytes) -> bytes:
    """A field "x" that is kept."""
    return Encoder().encode([(b"x", value)], huffman=False)


def test_references_stand_for_their_entry(library: ctypes.CDLL):
    """Four of nearly 4 KB are within the bound, a fifth isn't; nothing of it is called."""
    with Receiver(library) as receiver:
        assert receiver.decode(literal(bytes(4000)))[0] == GOOD
        status, fields = receiver.decode(b"\xbe" * 4)
        assert (status, len(fields)) == (GOOD, 4)
        status, fields = receiver.decode(b"\xbe" * 16_000)
        assert (status, len(fields)) == (TOO_LARGE, 4)


@pytest.mark.parametrize(
    "block",
    [
        b"\x80",  # no entry has the number 0
        b"\xbe",  # the table is empty
        b"\xff\xff\xff\xff\xff\xff",  # a number without an end
        b"\x3f\xe2\x1f",  # a table of 4,097 octets
        b"\x82\x20",  # its size behind a field
        b"\x00\x01x",  # no value
        b"\x00\x01x\x05abc",  # one that is cut off
        b"\x00\x01x\x81\x00",  # a code that ends with zeros
        b"\x00\x01x\x82\xff\xff",  # with more than seven ones
        b"\x00\x01x\x84\xff\xff\xff\xff",  # the end's code
    ],
)
def test_malformed_blocks_are_refused(library: ctypes.CDLL, block):
    with Receiver(library) as receiver:
        assert receiver.decode(block)[0] == MALFORMED
