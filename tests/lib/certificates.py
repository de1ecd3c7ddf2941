"""Certificates of servers that are to be trusted, or not; and a door with TLS."""

import socket
import ssl
import subprocess
import threading

# 127.0.0.1 written as one number, and so not known to be loopback.
FAR = "2130706433"
# The server's certificates: the authority that signed, the names, the end.
CERTIFICATES = {
    "good": ("ours", f"DNS:localhost,DNS:{FAR},IP:127.0.0.1",
             "20990101000000Z"),
    "elsewhere": ("ours", "DNS:other.example", "20990101000000Z"),
    "expired": ("ours", f"DNS:localhost,DNS:{FAR},IP:127.0.0.1",
                "20200101000000Z"),
    "foreign": ("theirs", f"DNS:localhost,DNS:{FAR},IP:127.0.0.1",
               "20990101000000Z"),
}


def openssl(*command, cwd):
    subprocess.run(["openssl", *command], cwd=cwd, check=True,
                   capture_output=True, stdin=subprocess.DEVNULL)


def make_authority(name, cwd):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
            "-out", f"{name}.pem", "-subj", f"/CN={name} authority", "-days",
            "36500", cwd=cwd)


def make_certificate(name, authority, names, until, cwd):
    (cwd / "ca.cnf").write_text(
        "[ca]\ndefault_ca = a\n[a]\nnew_certs_dir = .\ndatabase = index\n"
        "serial = serial\ndefault_md = sha256\npolicy = p\n"
        "unique_subject = no\nemail_in_dn = no\n[p]\ncommonName = supplied\n")
    (cwd / "index").write_text("")
    (cwd / "serial").write_text("01\n")
    (cwd / "ext").write_text(f"subjectAltName = {names}\n")
    (cwd / f"{name}.key").write_bytes((cwd / "server.key").read_bytes())
    openssl("req", "-new", "-key", f"{name}.key", "-out", f"{name}.csr",
            "-subj", "/CN=tidemark test", cwd=cwd)
    openssl("ca", "-batch", "-notext", "-config", "ca.cnf", "-cert",
            f"{authority}.pem", "-keyfile", f"{authority}.key", "-in",
            f"{name}.csr", "-out", f"{name}.pem", "-extfile", "ext",
            "-startdate", "20190101000000Z", "-enddate", until, cwd=cwd)


def make_certificates(cwd):
    """NAME.pem and NAME.key of each, and ours.pem and theirs.pem."""
    for name in ("ours", "theirs"):
        make_authority(name, cwd)
    # One for all of them: to make one takes a quarter of a second.
    openssl("genrsa", "-out", "server.key", "2048", cwd=cwd)
    for name, (authority, names, until) in CERTIFICATES.items():
        make_certificate(name, authority, names, until, cwd)


class TlsDoor:
    """Speaks TLS on a port of its own, by the certificate `name` of `cwd`, and
    hands what comes to `port` as it is."""

    def __init__(self, port, cwd, name):
        self.inside = port
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(cwd / f"{name}.pem", cwd / f"{name}.key")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,),
                             daemon=True).start()

    def serve(self, client):
        try:
            outer = self.context.wrap_socket(client, server_side=True)
            inner = socket.create_connection(("127.0.0.1", self.inside))
        except OSError:
            client.close()
            return
        back = threading.Thread(target=self.pump, args=(inner, outer),
                                daemon=True)
        back.start()
        self.pump(outer, inner)
        back.join()
        outer.close()
        inner.close()

    @staticmethod
    def pump(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for each in (source, sink):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
