"""Files are written whole or not at all and keep their permissions; what is no regular file is written into."""

import errno
import os
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

import jaxtree
from jaxtree.errors import InvalidInputError
from jaxtree.files.writing import check_writable, descriptor_of, write_file
from tests.examples import example

OLD, NEW = b"old", b"new content"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="of permissions, links, pipes and devices of Unix")


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield
    os.umask(before)


def reading(path):
    """A thread that reads a pipe to its end, and the list that it puts the bytes in."""
    read = []
    thread = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    thread.start()
    return thread, read


def test_a_new_file_has_the_mode_of_new_files(tmp_path, umask):
    write_file(tmp_path / "new", NEW)
    assert mode_of(tmp_path / "new") == 0o640
    assert os.listdir(tmp_path) == ["new"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666, 0o755, 0o444])
def test_a_file_keeps_its_mode_and_nobody_else_reads_it_before(tmp_path, umask, mode, monkeypatch):
    path, moved = tmp_path / "file", os.replace
    path.write_bytes(OLD)
    path.chmod(mode)
    created = os.open

    def watched(name, flags, *given):
        opened = created(name, flags, *given)
        assert not flags & os.O_CREAT or mode_of(name) & ~mode & 0o077 == 0
        return opened

    monkeypatch.setattr(os, "open", watched)
    monkeypatch.setattr(os, "replace", lambda part, path: (mode_of(part) == mode or pytest.fail(), moved(part, path)))
    write_file(path, NEW)
    assert path.read_bytes() == NEW and mode_of(path) == mode


def test_links_stay(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").write_bytes(OLD)
    (tmp_path / "link").symlink_to("folder/file")
    (tmp_path / "link of a link").symlink_to(tmp_path / "link")
    (tmp_path / "to nothing").symlink_to("folder/absent")
    for name, target in (("link", "file"), ("link of a link", "file"), ("to nothing", "absent")):
        check_writable(tmp_path / name)
        write_file(tmp_path / name, name.encode())
        assert (tmp_path / name).is_symlink() and (folder / target).read_bytes() == name.encode()
    assert sorted(os.listdir(folder)) == ["absent", "file"]


@pytest.mark.parametrize("write", [write_file, lambda path, data: example("cart").save(path)])
def test_a_named_pipe_stays_and_its_reader_gets_all(tmp_path, write):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    check_writable(path)
    thread, read = reading(path)
    write(path, NEW * 100_000)
    thread.join(60)
    assert stat.S_ISFIFO(os.stat(path).st_mode) and os.listdir(tmp_path) == ["pipe"]
    if write is write_file:
        assert read == [NEW * 100_000]
    else:
        write_file(tmp_path / "model", read[0])
        again, expected = jaxtree.load(tmp_path / "model"), example("cart")
        np.testing.assert_array_equal(again.tree_.threshold, expected.tree_.threshold)
        assert again.get_params() == expected.get_params()


@pytest.mark.parametrize(("minor", "fails"), [(3, False), (7, True)])
def test_a_device_stays(tmp_path, minor, fails):
    """Copies of /dev/null and /dev/full, in a folder of the test."""
    path = tmp_path / "device"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        pytest.skip("devices cannot be made here")
    if fails:
        with pytest.raises(OSError) as raised:
            write_file(path, NEW)
        assert raised.value.errno == errno.ENOSPC
    else:
        write_file(path, NEW)
    assert stat.S_ISCHR(os.stat(path).st_mode) and os.listdir(tmp_path) == ["device"]


WRITES = (
    "import sys; from jaxtree.files.writing import write_file; print('a'); write_file(sys.argv[1], b'b'); print('c')"
)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/../dev/stdout"])
def test_the_standard_output_goes_on(tmp_path, name):
    """Into a pipe, and behind what a file has: what stands there already is not lost."""
    if not os.path.exists(os.path.dirname(name)):
        pytest.skip("not on this system")
    command = [sys.executable, "-c", WRITES, name]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"a\nbc\n"
    path = tmp_path / "log"
    path.write_bytes(b"before\n")
    with open(path, "ab") as opened:
        subprocess.run(command, stdout=opened, check=True)
    assert path.read_bytes() == b"before\na\nbc\n"


def test_an_open_file_is_written_where_it_is(tmp_path):
    with open(tmp_path / "file", "w+b", buffering=0) as opened:
        opened.write(OLD)
        (tmp_path / "link").symlink_to(f"/dev/fd/{opened.fileno()}")
        for name in (f"/dev/fd/{opened.fileno()}", tmp_path / "link"):
            check_writable(name)
            assert descriptor_of(name) == opened.fileno()
            write_file(name, NEW)
    assert (tmp_path / "file").read_bytes() == OLD + NEW + NEW
    with pytest.raises(OSError):
        write_file("/dev/fd/999", NEW)


@pytest.mark.parametrize("path", ["-", "file", "/dev/null", "/dev/fd", "/dev/fd/x", "/proc/1/fd/1", "/tmp/fd/1", ""])
def test_other_paths_are_no_open_files(path):
    assert descriptor_of(path) is None


def test_links_in_a_circle_end(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert descriptor_of(tmp_path / "a") is None
    with pytest.raises(OSError):
        write_file(tmp_path / "a", NEW)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left")])
@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_what_is_cut_short_leaves_the_old_file(tmp_path, monkeypatch, error, step):
    path = tmp_path / "file"
    path.write_bytes(OLD)

    def cut(*_):
        raise error

    monkeypatch.setattr(os, step, cut)
    with pytest.raises(type(error)) as raised:
        write_file(path, NEW)
    assert path.read_bytes() == OLD and os.listdir(tmp_path) == ["file"]
    assert not isinstance(error, OSError) or raised.value.filename == str(path)


def test_a_file_that_cannot_be_moved_is_written_in_place(tmp_path, monkeypatch):
    """A file that is mounted alone, as containers have it, can be written but not replaced."""
    path = tmp_path / "file"
    path.write_bytes(OLD * 100)

    def busy(*_):
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(os, "replace", busy)
    write_file(path, NEW)
    assert path.read_bytes() == NEW and os.listdir(tmp_path) == ["file"]
    with pytest.raises(OSError, match="busy"):
        write_file(tmp_path / "other", NEW)


def test_folders_are_no_files(tmp_path):
    with pytest.raises(OSError):
        write_file(tmp_path, NEW)
    with pytest.raises(InvalidInputError, match="is a folder"):
        check_writable(tmp_path)
    with pytest.raises(InvalidInputError, match="is not there"):
        check_writable(tmp_path / "absent" / "file")


def test_a_name_as_long_as_any(tmp_path):
    write_file(tmp_path / ("ä" * 127), NEW)
    assert (tmp_path / ("ä" * 127)).read_bytes() == NEW
