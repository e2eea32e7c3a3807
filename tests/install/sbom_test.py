#!/usr/bin/env python3
"""What tools/sbom writes: a document of SPDX 2.3 whose references hold, with every library that the programs load.

sbom_test.py SOURCE BUILD
"""
import json
import os
import re
import subprocess
import sys

CREATED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
ID = re.compile(r"SPDXRef-[A-Za-z0-9.-]+")
LICENCE = re.compile(r"NOASSERTION|[A-Za-z0-9.-]+( (AND|OR) [A-Za-z0-9.-]+)*")
KINDS = {"DESCRIBES", "DYNAMIC_LINK", "STATIC_LINK", "DEPENDS_ON", "DEV_DEPENDENCY_OF"}


def check(condition, text):
    if not condition:
        sys.exit(text)


def main():
    source, build = sys.argv[1:3]
    environment = dict(os.environ, SOURCE_DATE_EPOCH="1700000000")
    made = [subprocess.run([os.path.join(source, "tools", "sbom"), "--build", build], env=environment, capture_output=True, text=True, check=False)
            for _ in range(2)]
    check(made[0].returncode == 0, made[0].stderr)
    check(made[0].stdout == made[1].stdout, "the same programs give two documents")
    document = json.loads(made[0].stdout)
    check(document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0" and document["SPDXID"] == "SPDXRef-DOCUMENT",
          f"head: {document}")
    check(re.fullmatch(r"https://\S+", document["documentNamespace"]) and "#" not in document["documentNamespace"], "namespace")
    creation = document["creationInfo"]
    check(CREATED.fullmatch(creation["created"]) and all(re.match(r"(Tool|Person|Organization): ", one) for one in creation["creators"]),
          f"{creation}")
    packages = {one["SPDXID"]: one for one in document["packages"]}
    check(len(packages) == len(document["packages"]), "an id stands twice")
    for name, package in packages.items():
        check(ID.fullmatch(name) and package["name"] and package["versionInfo"] and package["downloadLocation"], f"{package}")
        check(LICENCE.fullmatch(package["licenseDeclared"]) and LICENCE.fullmatch(package["licenseConcluded"]), f"licence: {package}")
    related = set()
    for relation in document["relationships"]:
        ends = {relation["spdxElementId"], relation["relatedSpdxElement"]}
        check(ends <= packages.keys() | {"SPDXRef-DOCUMENT"} and relation["relationshipType"] in KINDS, f"{relation}")
        related |= ends
    check(packages.keys() <= related, f"related to nothing: {packages.keys() - related}")
    names = {package["name"] for package in packages.values()}
    loaded = subprocess.run(["ldd", os.path.join(build, "bin", "perfleet-gateway")], capture_output=True, text=True, check=True).stdout
    for library, package in (("libzmq.so", "libzmq5"), ("librocksdb.so", "librocksdb7.8"), ("libsodium.so", "libsodium23"), ("libc.so", "libc6")):
        check(library not in loaded or package in names, f"{package} is missing")
    check({"libboost-dev", "libcli11-dev", "nlohmann-json3-dev", "esbuild"} <= names, f"parts are missing: {sorted(names)}")
    print(f"{len(packages)} packages")


if __name__ == "__main__":
    main()
