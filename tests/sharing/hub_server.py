"""A hub of data sets on loopback: what huggingface_hub asks for, with the state of a repository as git has it."""

import base64
import hashlib
import json
import re
import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "hf_loopbackSecretOfAda"
LARGE = (".parquet", ".safetensors")
"""What a hub keeps as large files, of which it says the SHA-256."""


@lru_cache(maxsize=256)
def blob(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass
class Repo:
    """Commits, newest last; each is the whole tree, by path."""

    private: bool = False
    commits: list[dict[str, bytes]] = field(default_factory=lambda: [{".gitattributes": b"* text\n"}])

    def shas(self):
        trees = [sorted((path, blob(content)) for path, content in tree.items()) for tree in self.commits]
        return [hashlib.sha1(repr((at, tree)).encode()).hexdigest() for at, tree in enumerate(trees)]

    def tree(self, revision):
        return self.commits[-1] if revision == "main" else self.commits[self.shas().index(revision)]


@dataclass
class Fault:
    """What happens instead, to the next request whose method and path match ``where``; ``times`` times.

    ``what`` is a status, or "cut" (the connection ends before anything is done), "lost" (all is done, and the reply is
    lost), "stall" (nothing comes), "race" (somebody else commits first), "half" (half of a file is sent).
    """

    where: str
    what: int | str
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""
    times: int = 1


class QuietServer(ThreadingHTTPServer):
    """Says nothing where a client is gone before it has its reply: stderr is the command's that a test runs."""

    def handle_error(self, request, client_address):
        pass


class HubServer:
    """``user`` owns the token; ``asked`` has each request's method and path, ``seen`` each one's headers and body."""

    def __init__(self):
        self.repos, self.faults, self.asked, self.seen = {}, [], [], []
        self.forbidden, self.gated = set(), {}
        self.closing = threading.Event()
        self._server = QuietServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self):
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def fault(self, where, what, times=1, body="", **headers):
        self.faults.append(
            Fault(where, what, {name.replace("_", "-"): one for name, one in headers.items()}, body, times)
        )

    def files(self, repo):
        return {path: content for path, content in self.repos[repo].commits[-1].items() if path != ".gitattributes"}

    def put(self, repo, path, content):
        own = self.repos.setdefault(repo, Repo())
        own.commits.append({**own.commits[-1], path: content})

    def met(self, request):
        for fault in self.faults:
            if fault.times and re.search(fault.where, request):
                fault.times -= 1
                return fault
        return None


@contextmanager
def running():
    server = HubServer()
    try:
        yield server
    finally:
        server.close()


def _handler(hub):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments):
            pass

        def _reply(self, status, value=b"", **headers):
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            for name, one in headers.items():
                self.send_header(name.replace("_", "-"), one)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def _cut(self):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

        def _serve(self):
            address = urlsplit(self.path)
            path, request = unquote(address.path), f"{self.command} {unquote(address.path)}"
            fault = hub.met(request)
            hub.asked.append(request)
            if fault and fault.what == "cut":
                return self._cut()
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            hub.seen.append((dict(self.headers), body))
            if fault and fault.what == "stall":
                hub.closing.wait(60)
                return self._cut()
            if fault and isinstance(fault.what, int):
                return self._reply(fault.what, fault.body.encode(), **fault.headers)
            if fault and fault.what == "race":
                hub.put(_repo_of(path), f"submissions/other/{len(hub.asked)}.json", b"{}")
            return self._route(path, body, parse_qs(address.query), fault)

        do_GET = do_POST = do_HEAD = _serve

        def _route(self, path, body, query, fault):
            known = self.headers.get("Authorization") == f"Bearer {TOKEN}"
            if not known and (self.command == "POST" or path == "/api/whoami-v2"):
                return self._reply(401, {"error": "Invalid credentials in Authorization header"})
            if path == "/api/whoami-v2":
                return self._reply(200, {"type": "user", "name": "ada"})
            if path == "/api/repos/create":
                return self._create(json.loads(body))
            if path == "/api/validate-yaml":
                return self._reply(200, {"errors": [], "warnings": []})
            name = _repo_of(path)
            if name not in hub.repos:
                return self._reply(404, {"error": "Repository not found"}, X_Error_Code="RepoNotFound")
            own = hub.repos[name]
            if name in hub.gated and (not known or hub.gated[name] == 403):
                says = "Access to this repo is restricted and you are not in the authorized list"
                return self._reply(hub.gated[name], {"error": says}, X_Error_Code="GatedRepo", X_Error_Message=says)
            if "/resolve/" in path:
                return self._resolve(own, *path.split("/resolve/")[1].split("/", 1), fault)
            verb, _, rest = (
                re.sub(r"^/api/(datasets|models|spaces)/", "", path).removeprefix(name).strip("/").partition("/")
            )
            if verb in ("revision", "tree") and rest.split("/")[0] not in ("main", *own.shas()):
                return self._reply(404, {"error": f"Invalid rev id: {rest}"}, X_Error_Code="RevisionNotFound")
            if verb in ("", "revision"):
                sha = own.shas()[-1] if rest in ("", "main") else rest
                return self._reply(200, {"id": name, "sha": sha, "private": own.private})
            if verb == "preupload":
                files = [self._mode(own, one) for one in json.loads(body)["files"]]
                return self._reply(200, {"files": files})
            if verb == "commit":
                return self._commit(name, own, body, fault)
            if verb == "paths-info":
                tree = own.tree(rest)
                wanted = parse_qs(body.decode())["paths"]
                return self._reply(200, [_entry(one, tree[one]) for one in wanted if one in tree])
            if verb == "tree":
                revision, _, folder = rest.partition("/")
                inside = {k: v for k, v in own.tree(revision).items() if k.startswith(f"{folder}/") or not folder}
                if folder and not inside:
                    return self._reply(404, {"error": "no such folder"}, X_Error_Code="EntryNotFound")
                return self._reply(200, [_entry(one, content) for one, content in inside.items()])
            return self._reply(404, {"error": f"no {verb}"})

        def _create(self, wanted):
            name = f"{wanted.get('organization') or 'ada'}/{wanted['name']}"
            if name in hub.forbidden:
                return self._reply(403, {"error": f"You don't have the rights to create {name}"})
            if name in hub.repos:
                return self._reply(
                    409, {"error": "You already created this dataset repo", "url": f"{hub.url}/datasets/{name}"}
                )
            private = wanted.get("private") or wanted.get("visibility") == "private"
            hub.repos[name] = Repo(private=bool(private))
            return self._reply(200, {"url": f"{hub.url}/datasets/{name}"})

        def _mode(self, own, one):
            there = own.commits[-1].get(one["path"])
            oid = {} if there is None else {"oid": blob(there)}
            return {"path": one["path"], "uploadMode": "regular", "shouldIgnore": False, **oid}

        def _commit(self, name, own, body, fault):
            lines = [json.loads(line) for line in body.splitlines()]
            header = lines[0]["value"]
            if header.get("parentCommit") not in (None, own.shas()[-1]):
                return self._reply(412, {"error": "A commit has happened since. Please refresh and try again."})
            files = {
                line["value"]["path"]: base64.b64decode(line["value"]["content"])
                for line in lines
                if line["key"] == "file"
            }
            removed = {line["value"]["path"] for line in lines if line["key"] == "deletedFile"}
            kept = {path: content for path, content in own.commits[-1].items() if path not in removed}
            own.commits.append({**kept, **files})
            if fault and fault.what == "lost":
                return self._cut()
            sha = own.shas()[-1]
            return self._reply(
                200, {"commitUrl": f"{hub.url}/datasets/{name}/commit/{sha}", "commitOid": sha, "success": True}
            )

        def _resolve(self, own, revision, path, fault):
            content = own.tree(revision).get(path)
            if content is None:
                return self._reply(404, {"error": "Entry not found"}, X_Error_Code="EntryNotFound")
            commit = own.shas()[-1] if revision == "main" else revision
            head = {"ETag": f'"{blob(content)}"', "X_Repo_Commit": commit}
            if fault and fault.what == "half":
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                for key, one in head.items():
                    self.send_header(key.replace("_", "-"), one)
                self.end_headers()
                self.wfile.write(content[: len(content) // 2])
                return self._cut()
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
            if asked:
                rest = content[int(asked[1]) :]
                span = f"bytes {asked[1]}-{len(content) - 1}/{len(content)}"
                return self._reply(206, rest, Content_Range=span, **head)
            return self._reply(200, content, **head)

    return Handler


def _repo_of(path):
    found = re.match(r"/(?:api/)?(?:datasets/|models/|spaces/)?([^/]+/[^/]+)", path)
    return found[1] if found else ""


def _entry(path, content):
    digest = hashlib.sha256(content).hexdigest()
    large = {"lfs": {"oid": digest, "size": len(content), "pointerSize": 130}} if path.endswith(LARGE) else {}
    return {"type": "file", "path": path, "size": len(content), "oid": blob(content), **large}
