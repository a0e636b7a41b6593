"""Downloads from a real server on this machine: broken, resumed, checked, unpacked."""

import hashlib
import io
import socket
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tiercut.data import download
from tiercut.data.addresses import ADDRESSES, Package, Remote
from tiercut.data.sources import STORED
from tiercut.errors import InputError, MissingError

DATA = bytes(range(256)) * 8192
"""Two megabytes, which are several chunks."""


class Server:
    """Serves DATA, and does what tests ask it to do wrong."""

    def __init__(self):
        self.files = {"/file.bin": DATA}
        self.ranges = True
        self.length = True
        self.break_after = []
        """After how many bytes the next answers break off; afterwards none does."""
        self.asked = []
        """The Range header of each request."""
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.answer(self)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def answer(self, request):
        asked = request.headers.get("Range")
        self.asked.append(asked)
        if request.path not in self.files:
            request.send_error(404)
            return
        data = self.files[request.path]
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.ranges else 0
        if start >= len(data):
            request.send_error(416)
            return
        request.send_response(206 if start else 200)
        if self.length:
            request.send_header("Content-Length", str(len(data) - start))
        request.end_headers()
        end = start + self.break_after.pop(0) if self.break_after else len(data)
        request.wfile.write(data[start:end])


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.http.shutdown()
    thread.join()
    server.http.server_close()


def md5(data):
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def table(*urls, name="file.bin", data=DATA, **package):
    remote = Remote(name, urls, md5(data))
    return {"set": Package(package.pop("folder", "set"), (remote,), "http://page", **package)}


def get(folder, addresses, **options):
    return download.get("set", folder, addresses=addresses, **options)


def test_a_file_arrives_whole_and_says_how_far_it_is(tmp_path, server):
    steps = []
    place = get(
        tmp_path / "new" / "data",
        table(f"{server.url}/file.bin"),
        progress=lambda done, total: steps.append((done, total)),
    )
    assert place == tmp_path / "new" / "data" / "set"
    assert (place / "file.bin").read_bytes() == DATA
    assert [path.name for path in place.iterdir()] == ["file.bin"]
    assert steps == sorted(steps)
    assert steps[-1] == (len(DATA), len(DATA))
    assert len(steps) > 2


def test_a_file_that_is_there_is_not_fetched_again(tmp_path, server):
    addresses = table(f"{server.url}/file.bin")
    get(tmp_path, addresses)
    get(tmp_path, addresses)
    assert len(server.asked) == 1
    (tmp_path / "set" / "file.bin").write_bytes(b"damaged")
    get(tmp_path, addresses)
    assert (tmp_path / "set" / "file.bin").read_bytes() == DATA


def test_a_broken_transfer_goes_on_where_it_broke(tmp_path, server):
    server.break_after = [1_000_000, 500_000]
    get(tmp_path, table(f"{server.url}/file.bin"))
    assert server.asked == [None, "bytes=1000000-", "bytes=1500000-"]
    assert (tmp_path / "set" / "file.bin").read_bytes() == DATA


def test_what_arrived_is_kept_for_the_next_run(tmp_path, server):
    server.break_after = [1000] * download.ATTEMPTS
    addresses = table(f"{server.url}/file.bin")
    with pytest.raises(MissingError, match=r"3,000 of 2,097,152 bytes.* run the command again"):
        get(tmp_path, addresses)
    assert [path.name for path in (tmp_path / "set").iterdir()] == ["file.bin.part"]
    get(tmp_path, addresses)
    assert server.asked[-1] == "bytes=3000-"
    assert (tmp_path / "set" / "file.bin").read_bytes() == DATA


def test_a_server_without_ranges_starts_again(tmp_path, server):
    server.ranges = False
    server.break_after = [1_000_000]
    get(tmp_path, table(f"{server.url}/file.bin"))
    assert server.asked == [None, "bytes=1000000-"]
    assert (tmp_path / "set" / "file.bin").read_bytes() == DATA


def test_a_server_need_not_say_the_length(tmp_path, server):
    server.length = False
    get(tmp_path, table(f"{server.url}/file.bin"))
    assert (tmp_path / "set" / "file.bin").read_bytes() == DATA


def test_a_part_that_is_whole_already_is_taken(tmp_path, server):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "file.bin.part").write_bytes(DATA)
    get(tmp_path, table(f"{server.url}/file.bin"))
    assert (tmp_path / "set" / "file.bin").read_bytes() == DATA


@pytest.mark.parametrize("part", [b"", b"x" * 100, b"x" * (len(DATA) + 1)])
def test_a_wrong_checksum_removes_the_file(tmp_path, server, part):
    server.files["/file.bin"] = DATA[:-1] + b"x"
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "file.bin.part").write_bytes(part)
    with pytest.raises(MissingError, match=f"expected {md5(DATA)}. The file was removed"):
        get(tmp_path, table(f"{server.url}/file.bin"))
    assert list((tmp_path / "set").iterdir()) == []


def test_the_next_address_is_tried(tmp_path, server):
    get(tmp_path, table(f"{server.url}/moved", f"{server.url}/file.bin"))
    assert len(server.asked) == 2


def closed_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def test_an_address_that_is_gone_is_said_with_a_remedy(tmp_path, server):
    with pytest.raises(MissingError, match=r"answers 404 Not Found.* get it from http://page"):
        get(tmp_path, table(f"{server.url}/moved"))
    with pytest.raises(MissingError, match=r"Connection refused.* get it from http://page"):
        get(tmp_path, table(f"http://127.0.0.1:{closed_port()}/file.bin"))


def test_a_server_that_talks_nonsense_is_said(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(30)

        def answer():
            for _ in range(download.ATTEMPTS):
                connection, _ = listening.accept()
                with connection:
                    connection.recv(1000)
                    connection.sendall(b"hello\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        port = listening.getsockname()[1]
        with pytest.raises(MissingError, match="the connection broke"):
            get(tmp_path, table(f"http://127.0.0.1:{port}/file.bin"))
        thread.join()


def test_a_folder_that_cannot_be_written_is_named(tmp_path, server):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot be written: .*--data-dir"):
        get(tmp_path / "file" / "data", table(f"{server.url}/file.bin"))
    with pytest.raises(InputError, match="file: cannot be written: File exists"):
        get(tmp_path, table(f"{server.url}/file.bin", folder="file"))


def test_a_full_disk_is_said(tmp_path, server):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "file.bin.part").symlink_to("/dev/full")
    with pytest.raises(InputError, match=r"file.bin.part: cannot be written: No space left"):
        get(tmp_path, table(f"{server.url}/file.bin"))


def test_a_set_without_an_address_is_refused(tmp_path):
    with pytest.raises(InputError, match="did you mean 'set'"):
        download.get("sets", tmp_path, addresses=table())


# ------------------------------------------------------------------------------------- archives


def as_archive(**files):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return made.getvalue()


def serve_archive(server, data, **package):
    server.files["/set.tar.gz"] = data
    return table(f"{server.url}/set.tar.gz", name="set.tar.gz", data=data, **package)


@pytest.mark.parametrize("inside", ["", "batches"])
def test_an_archive_is_unpacked_into_its_folder(tmp_path, server, inside):
    data = as_archive(**{f"{inside}/a/b.txt" if inside else "./a/b.txt": b"hello"})
    place = get(tmp_path, serve_archive(server, data, inside=inside))
    assert (place / "a" / "b.txt").read_bytes() == b"hello"
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


ESCAPING = as_archive(**{"../evil": b"x"})


# Named, since an archive holds the time when it was made, and two test processes make their own.
@pytest.mark.parametrize(
    "data",
    [ESCAPING, b"no archive", as_archive(a=DATA)[:400]],
    ids=["escaping", "no archive", "cut short"],
)
def test_an_archive_that_is_hostile_or_damaged_leaves_nothing(tmp_path, server, data):
    folder = tmp_path / "data"
    with pytest.raises(InputError, match="cannot be unpacked"):
        get(folder, serve_archive(server, data))
    assert [path.name for path in folder.iterdir()] == ["set.tar.gz"]
    assert not (tmp_path / "evil").exists()


def test_a_folder_that_is_in_the_way_is_kept(tmp_path, server):
    (tmp_path / "set").mkdir()
    with pytest.raises(InputError, match="is there already"):
        get(tmp_path, serve_archive(server, as_archive(a=b"x")))
    assert server.asked == []


def test_an_archive_without_its_folder_is_refused(tmp_path, server):
    with pytest.raises(InputError, match="No such file"):
        get(tmp_path, serve_archive(server, as_archive(a=b"x"), inside="batches"))


# ----------------------------------------------------------------------------------- the addresses


def test_every_stored_set_has_an_address():
    assert set(ADDRESSES) == set(STORED)
    for package in ADDRESSES.values():
        for remote in package.files:
            assert len(remote.md5) == 32
            assert all(url.startswith(("https://", "http://")) for url in remote.urls)
