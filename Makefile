# Two commands do all the set-up: `make demo` and `make test`.
.PHONY: help setup demo test lint docs site bench bench-images bench-judging clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile

setup: ## build .venv with fleet in it; quick when nothing changed
	@sh scripts/setup

demo: setup ## provision, audit, break and uninstall a small fleet on this machine
	@.venv/bin/fleet demo

test: setup ## lint, types, unit and end-to-end tests
	@sh scripts/test

lint: setup ## lint and types only
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy

docs: setup ## write the generated reference pages afresh
	@.venv/bin/python scripts/docs.py

site: setup ## build the documentation site into site/, strictly
	@.venv/bin/python scripts/build_site.py

bench: setup ## audit many ssh hosts beside other tools; N="20 100 300" PEERS="pyinfra ..."
	@PYTHONPATH=tests .venv/bin/python -m benchmarks.hosts --hosts "$(N)" --peers "$(PEERS)"

bench-images: setup ## judge a 1.3 GB image beside another tool; takes minutes
	@.venv/bin/pip install -q -e '.[dev,bench]'
	@PYTHONPATH=tests .venv/bin/python -m benchmarks.images

bench-judging: setup ## judge the saved facts of N=10000 targets
	@PYTHONPATH=tests .venv/bin/python -m benchmarks.judging N=$(or $(N),10000)

clean: ## take away what setup and test made
	rm -rf .venv .cache dist build site
