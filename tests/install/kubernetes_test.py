#!/usr/bin/env python3
"""docs/kubernetes/perfleet.yaml: its objects refer to each other, nothing is privileged, and gateway and collector run with
the arguments, keys and folders that it gives them.

kubernetes_test.py SOURCE BIN_DIR
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

NODE = "node-1"
SECRETS_AND_MAPS = {  # as the README beside it makes them
    ("secret", "perfleet-gateway"): ["gateway.key"], ("secret", "perfleet-nodes"): [NODE + ".key"],
    ("configMap", "perfleet-gateway"): ["gateway.pub"], ("configMap", "perfleet-collectors"): [NODE + ".pub"]}
API = {"Namespace": "v1", "Service": "v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1"}


def check(condition, text):
    if not condition:
        sys.exit(text)


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)
    check(done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def read_objects(path):
    # Debian's Python has PyYAML (python3-yaml), whichever this one is.
    code = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))"
    return json.loads(run("/usr/bin/python3", "-c", code, path))


def check_pods(name, workload):
    spec = workload["spec"]
    labels = spec["template"]["metadata"]["labels"]
    check(spec["selector"]["matchLabels"].items() <= labels.items(), f"{name}: the selector doesn't match")
    pod = spec["template"]["spec"]
    volumes = {volume["name"] for volume in pod["volumes"]} | {claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])}
    used = set()
    for container in pod.get("initContainers", []) + pod["containers"]:
        security = container["securityContext"]
        check(not security.get("privileged") and security["allowPrivilegeEscalation"] is False and security["readOnlyRootFilesystem"]
              and security["capabilities"]["drop"] == ["ALL"], f"{name}: {security}")
        used |= {mount["name"] for mount in container["volumeMounts"]}
        ports = {port["name"] for port in container.get("ports", [])}
        for probe in (value for key, value in container.items() if key.endswith("Probe")):
            target = probe.get("tcpSocket") or probe["httpGet"]
            check(target["port"] in ports, f"{name}: a probe of no port: {probe}")
    check(used == volumes, f"{name}: volumes {used ^ volumes}")
    return pod, pod["containers"][0]


def capabilities_of_unit(source):
    with open(os.path.join(source, "daemon", "systemd", "perfleet-collector.service.in"), encoding="utf-8") as file:
        return {name.removeprefix("CAP_") for name in re.search(r"^AmbientCapabilities=(.+)$", file.read(), re.M)[1].split()}


class Node:
    """Folders as the kubelet mounts them: files of secrets and maps are links into a folder that changes as a whole."""

    def __init__(self, folder, keys):
        self.folder, self.keys = folder, keys

    def path(self, mount):
        return os.path.join(self.folder, mount.strip("/"))

    def mount(self, pod, container, claims=()):
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for mount in container["volumeMounts"]:
            at = self.path(mount["mountPath"])
            os.makedirs(at, exist_ok=True)
            volume = volumes.get(mount["name"], {})
            check(volume or mount["name"] in claims, f"no volume {mount['name']}")
            for kind, key in (("secret", "secretName"), ("configMap", "name")):
                if kind in volume:
                    self.fill(at, SECRETS_AND_MAPS[kind, volume[kind][key]], volume[kind].get("defaultMode", 0o644))

    def fill(self, at, names, mode):
        data = os.path.join(at, "..2024_01_01")
        if os.path.exists(data):
            return
        os.mkdir(data)
        os.symlink("..2024_01_01", os.path.join(at, "..data"))
        for name in names:
            shutil.copy(os.path.join(self.keys, name), data)
            os.chmod(os.path.join(data, name), mode)
            os.symlink(os.path.join("..data", name), os.path.join(at, name))

    def arguments(self, container, replaced):
        texts = []
        for text in container["args"]:
            for old, new in replaced.items():
                text = text.replace(old, new)
            texts.append(re.sub(r"=(/\S+)", lambda match: "=" + self.path(match[1]), text))
        return texts


def main():
    source, programs = sys.argv[1:3]
    objects = read_objects(os.path.join(source, "docs", "kubernetes", "perfleet.yaml"))
    for one in objects:
        check(API[one["kind"]] == one["apiVersion"], f"{one['kind']}: {one['apiVersion']}")
    by_kind = {one["kind"]: one for one in objects}
    gateway_pod, gateway = check_pods("gateway", by_kind["StatefulSet"])
    collector_pod, collector = check_pods("collector", by_kind["DaemonSet"])
    check(gateway_pod["securityContext"]["runAsNonRoot"] and "add" not in gateway["securityContext"]["capabilities"], "the gateway has rights")
    check(set(collector["securityContext"]["capabilities"]["add"]) == capabilities_of_unit(source), "capabilities aren't those of the unit")
    service = by_kind["Service"]["spec"]
    check(service["selector"].items() <= by_kind["StatefulSet"]["spec"]["template"]["metadata"]["labels"].items(), "the service selects nothing")
    check({port["port"] for port in service["ports"]} == {port["containerPort"] for port in gateway["ports"]}, "ports of the service")

    with tempfile.TemporaryDirectory(prefix="perfleet-kubernetes-") as folder:
        keys = os.path.join(folder, "keys")
        os.mkdir(keys)
        for name in ("gateway", NODE):
            run(os.path.join(programs, "perfleet"), "keygen", name, "--out", keys)
        inside = Node(os.path.join(folder, "gateway"), keys)
        for container in [*gateway_pod["initContainers"], gateway]:
            inside.mount(gateway_pod, container, {"store"})
        for container in gateway_pod["initContainers"]:
            run(*[inside.path(word) if word.startswith("/") else word for word in container["command"]])
        arguments = inside.arguments(gateway, {"tcp://0.0.0.0:7411": "tcp://127.0.0.1:*", "0.0.0.0:9411": "127.0.0.1:*"})
        server = subprocess.Popen([os.path.join(programs, gateway["command"][0]), *arguments, "--query", "tcp://127.0.0.1:*"],
                                  stdout=subprocess.PIPE, text=True)
        try:
            ready = server.stdout.readline()
            check("listen=" in ready, f"the gateway didn't start: {ready}")
            endpoint = re.search(r"listen=(\S+)", ready)[1]
            outside = Node(os.path.join(folder, NODE), keys)
            outside.mount(collector_pod, collector)
            address = next(text for text in collector["args"] if text.startswith("--gateway="))
            check(address == f"--gateway=tcp://{by_kind['Service']['metadata']['name']}.{by_kind['Namespace']['metadata']['name']}:7411", address)
            arguments = outside.arguments(collector, {address: f"--gateway={endpoint}", "$(NODE_NAME)": NODE})
            arguments += ["--duration", "1"]
            if os.geteuid() != 0:  # the pod's user may record all of the node
                arguments = [text for text in arguments if text != "--all-cpus"] + ["--", "sleep", "1"]
            run(os.path.join(programs, collector["command"][0]), *arguments)
            answer = json.loads(run(os.path.join(programs, "perfleet"), "targets", "--format", "json", "--gateway", re.search(r"query=(\S+)", ready)[1]))
        finally:
            server.terminate()
            server.wait()
    names = [column["name"] for column in answer["columns"]]
    rows = [dict(zip(names, row)) for row in answer["rows"]]
    check([row["target"] for row in rows] == [NODE], f"targets: {rows}")
    print(f"stored: {answer['ledger']['stored']} rows")


if __name__ == "__main__":
    main()
