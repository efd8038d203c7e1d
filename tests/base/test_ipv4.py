"""Addresses as numbers."""

import ipaddress
from collections.abc import Callable

from hypothesis import given, strategies as st

from pcn.base import ipv4


@given(st.integers(0, 2**32 - 1))
def test_number_of_a_text_is_the_one_it_was_written_from(number):
    text = str(ipaddress.IPv4Address(number))
    assert ipv4.text(number) == text
    assert ipv4.number(text) == number
    assert ipv4.octets(text) == ipaddress.IPv4Address(number).packed


def outcome(read: Callable[[str], bytes], text: str) -> bytes | str:
    """Returns what a reader makes of a text, or what it raises."""
    try:
        return read(text)
    except ValueError as error:
        return str(error)


@given(
    st.one_of(
        st.text(max_size=12),
        st.lists(st.integers(0, 300).map(str) | st.sampled_from(["", "00", "01", "\u0661", "1\0"]),
                 min_size=3, max_size=5).map(".".join),
    )
)  # fmt: skip
def test_text_is_an_address_where_ipaddress_has_it_for_one(text):
    assert outcome(ipv4.octets, text) == outcome(
        lambda text: ipaddress.IPv4Address(text).packed, text
    )
