"""Commands as forks: they stay whole beside other forks of the tests' process."""

import multiprocessing
import os

import forks


def test_fork_of_multiprocessing_leaves_commands_their_folder(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("print('here')\n")
    for _ in range(2):
        done = forks.run(str(script))
        assert (done.returncode, done.stdout, done.stderr) == (0, "here\n", "")
        child = multiprocessing.get_context("fork").Process(target=os.getpid)
        child.start()
        child.join()
        assert child.exitcode == 0
