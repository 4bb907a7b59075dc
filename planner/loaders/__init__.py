"""Files, pages and servers read into nouns; every fault names its place. Only here is YAML or HTTP known."""
