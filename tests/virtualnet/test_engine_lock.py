"""The engine's lock: who waits for it gets it in turn, and what is changed with it changes the run
as if nothing had happened meanwhile."""

import ctypes
import threading
import time

import pytest
from networks import dumbbell_network

from pcn.virtualnet.lock import EngineLock
from pcn.virtualnet.native import engine


def test_paced_run_beside_a_reader_without_end_has_the_digest_of_virtual_time():
    with dumbbell_network() as network:
        network.run(until_s=2e-3)
        expected = network.totals().digest
    ending, reads = threading.Event(), []
    with dumbbell_network() as network:
        network.pace(50.0, 1e-4)

        def read():
            while not ending.is_set():
                with network.lock:
                    reads.append(network.switches["s0"].read_registers("waiting_bytes")[35])

        thread = threading.Thread(target=read)
        thread.start()
        try:
            network.run(until_s=2e-3)
        finally:
            ending.set()
            thread.join()
        assert network.totals().digest == expected
    assert reads


def test_threads_get_the_lock_in_the_order_in_which_they_came():
    lock, order, came = EngineLock(engine()), [], []
    threads = []

    def take(number: int):
        came.append(number)
        with lock:
            order.append(number)

    with lock:
        for number in range(8):
            threads.append(threading.Thread(target=take, args=(number,)))
            threads[-1].start()
            _wait_for_ticket(lock, number + 2)
    for thread in threads:
        thread.join()
    assert order == came == list(range(8))


def _wait_for_ticket(lock: EngineLock, number: int):
    """Waits until that many have come: the lock's `next`, of csrc/api/lock.c, is behind a mutex of
    40 bytes and a condition of 48."""
    next_ticket = ctypes.c_uint64.from_address(lock.handle + 88)
    while next_ticket.value < number:
        time.sleep(1e-3)


def test_thread_takes_the_lock_again_and_leaves_it_once_for_each():
    lock = EngineLock(engine())
    free: list[bool] = []

    def look():
        free.append(lock.acquire(blocking=False))
        if free[-1]:
            lock.release()

    for depth in range(3):
        assert lock.acquire()
        assert depth + 1 == lock._mine.depth
    for _ in range(3):
        _in_thread(look)
        lock.release()
    _in_thread(look)
    assert free == [False, False, False, True]
    with pytest.raises(RuntimeError, match="hasn't taken"):
        lock.release()


def _in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()
