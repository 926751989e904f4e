import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from notes import Notes

NOTES = Notes(["bread & butter", "a walk"])


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = NOTES.page().encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    port = int(sys.argv[1])
    print(f"serving on {port}", flush=True)
    ThreadingHTTPServer(("0.0.0.0", port), Handler).serve_forever()
