"""Serves the objects of a `List` over TLS as an API server does, to clients with a certificate of its authority: discovery, lists in
pages, and the columns that kubectl asks for in vain. Prints its port, and then each call."""

import json
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

RESOURCES = {
    "": [
        ("nodes", "Node", False),
        ("services", "Service", True),
        ("pods", "Pod", True),
        ("persistentvolumes", "PersistentVolume", False),
        ("configmaps", "ConfigMap", True),
        ("serviceaccounts", "ServiceAccount", True),
        ("events", "Event", True),
    ],
    "apps": [("daemonsets", "DaemonSet", True), ("deployments", "Deployment", True), ("statefulsets", "StatefulSet", True)],
    "storage.k8s.io": [
        ("storageclasses", "StorageClass", False),
        ("csidrivers", "CSIDriver", False),
        ("csinodes", "CSINode", False),
    ],
    "rbac.authorization.k8s.io": [
        ("clusterroles", "ClusterRole", False),
        ("clusterrolebindings", "ClusterRoleBinding", False),
        ("roles", "Role", True),
        ("rolebindings", "RoleBinding", True),
    ],
    "networking.k8s.io": [("ingresses", "Ingress", True), ("ingressclasses", "IngressClass", False)],
    "coordination.k8s.io": [("leases", "Lease", True)],
    "admissionregistration.k8s.io": [("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", False)],
}


def version(group):
    return f"{group}/v1" if group else "v1"


def discovery(path):
    """The answers by which a client finds the paths of resources."""
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        one = lambda group: {"groupVersion": version(group), "version": "v1"}
        groups = [
            {"name": group, "versions": [one(group)], "preferredVersion": one(group)} for group in RESOURCES if group
        ]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
    for group, resources in RESOURCES.items():
        if path == (f"/apis/{version(group)}" if group else "/api/v1"):
            listed = [
                {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get", "list"]}
                for name, kind, namespaced in resources
            ]
            return {"kind": "APIResourceList", "groupVersion": version(group), "resources": listed}
    return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    items = []

    def log_message(self, *_):
        pass

    def date_time_string(self, timestamp=None):
        """The moment of the objects: what is renewed there is young."""
        return "Mon, 05 Jan 2026 10:00:05 GMT"

    def send(self, code, body):
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        url = urlsplit(self.path)
        print(self.path, flush=True)
        found = discovery(url.path)
        self.send(200, found) if found else self.listed(url.path, parse_qs(url.query))

    def listed(self, path, query):
        parts = path.strip("/").split("/")
        group, rest = (parts[1], parts[3:]) if parts[0] == "apis" else ("", parts[2:])
        namespace = None
        if rest and rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        kinds = {name: kind for name, kind, _ in RESOURCES.get(group, [])}
        if not rest or rest[0] not in kinds:
            return self.refuse(404, "NotFound", "the server could not find the requested resource")
        kind = kinds[rest[0]]
        mine = [
            item
            for item in self.items
            if item["kind"] == kind
            and item["apiVersion"] == version(group)
            and (namespace is None or item["metadata"].get("namespace") == namespace)
        ]
        for selector in query.get("fieldSelector", []):
            key, _, value = selector.partition("=")
            mine = [item for item in mine if item.get(key) == value]
        if len(rest) > 1:
            named = [item for item in mine if item["metadata"]["name"] == rest[1]]
            return self.send(200, named[0]) if named else self.refuse(404, "NotFound", f'"{rest[1]}" not found')
        start = int(query["continue"][0].split("/")[1]) if "continue" in query else 0
        end = min(len(mine), start + min(2, int(query.get("limit", ["500"])[0]) or 500))
        bare = [{key: value for key, value in item.items() if key not in ("kind", "apiVersion")} for item in mine]
        metadata = {"resourceVersion": "1"}
        if end < len(mine):
            # What stands in a token has to be kept as it is.
            metadata["continue"] = f"a+b=/{end}"
        self.send(200, {"kind": f"{kind}List", "apiVersion": version(group), "metadata": metadata, "items": bare[start:end]})

    def refuse(self, code, reason, message):
        self.send(code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code})


def main():
    objects, certificate, key, authority = sys.argv[1:]
    with open(objects, encoding="utf-8") as file:
        Handler.items = json.load(file)["items"]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print(server.server_port, flush=True)
    server.serve_forever()


main()
