# Thin on purpose: tools/environment.py finds or makes what each command needs.

PYTHON ?= python3
# More arguments for pytest, e.g. make test-newest PYTEST="-k undo"
PYTEST :=
# The versions of the bpy wheel that test-all covers, and the suites that it may leave out.
WHEELS := 4.2 4.5 5.2
SKIP :=
# The suites that run only one case of each test.
QUICK :=
# A folder of Blender's own catalogues, from which make translations fills in what they know.
LOCALES :=
# At how many processes tests run: one for each processor, another number, or 0 for none of its own.
JOBS := auto
# How long make fuzz takes.
SECONDS := 600

# Tests start a hundred processes, each of which would compile all modules of Blender's and ours anew
# where Python is told to keep no bytecode.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/bytecode

# The shell keeps the empty answer and the exit code of a failed set-up apart.
env = python=$$($(PYTHON) tools/environment.py $(1)) && "$$python"
# Those that are done take over what others have not begun; fixtures of modules are made twice.
parallel = -n $(JOBS) --dist worksteal
# A real Blender: the one of BLENDER=…, one that is installed, or Debian's, which is fetched.
find = blender=$$($(PYTHON) tools/real_blender.py $(1))
real = "$$blender" --background --factory-startup --python-exit-code 1 --python

.PHONY: help
help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo:  ## show what the add-on does, with the newest Blender this machine's Python allows
	export PYTHONPATH="$$($(PYTHON) tools/state.py)" && $(call env,bpy-$$($(PYTHON) tools/environment.py newest)) samples/demo.py

.PHONY: run
run:  ## open a real Blender with the add-on from this folder, and leave its settings alone
	$(call find) && BLENDER_USER_RESOURCES="$(CURDIR)/build/run" "$$blender" \
		--python-expr 'import sys; sys.path[:0] = [".", "solver/src"]; import addon; addon.register()'

.PHONY: bench
bench: wheels  ## measure beside Blender's own IK, in minutes; writes docs/benchmarks/ and the tables of speed
	export PYTHONPATH="$(CURDIR)/build/compiled" && $(call env,bpy-$$($(PYTHON) tools/environment.py newest)) benchmarks/run.py --to docs/benchmarks
	$(call env,core) tools/speed.py add

.PHONY: test
test: override PYTEST := -m quick $(PYTEST)
test: $(if $(BLENDER),test-real,test-core test-newest)  ## run each test once; BLENDER=… runs them in that real Blender

$(QUICK): override PYTEST := -m "quick and not newest"

.PHONY: test-all
test-all: $(filter-out $(SKIP),test-core $(WHEELS:%=test-wheel-%))  ## run all tests on every supported Blender
	@echo "All suites passed$(if $(SKIP), (without $(SKIP)))."

.PHONY: test-core
test-core:
	$(call env,core) -m pytest solver/tests -m "not long" $(parallel) $(PYTEST)

.PHONY: test-compiled
test-compiled:  ## install each compiled wheel of the solver, and run all of its tests on it
	$(call env,core) tools/wheel.py test

.PHONY: test-newest
test-newest:
	$(MAKE) --no-print-directory test-wheel-$$($(PYTHON) tools/environment.py newest) PYTEST='$(PYTEST)'

test-wheel-%:
	$(call env,bpy-$*) -m pytest tests/blender $(parallel) $(PYTEST)

.PHONY: test-real
test-real:  ## run the tests in a real Blender: BLENDER=…, an installed one, or Debian's
	$(call find,packages) && $(real) tests/run.py -- tests/blender $(PYTEST)

.PHONY: fuzz
fuzz: wheels fuzz-core fuzz-newest  ## try what nobody thought of, for about SECONDS=…

# Compiled, many times as much is tried in the same time.
fuzz-core fuzz-wheel-%: export FABRIK_FUZZ = $(SECONDS)
fuzz-core fuzz-wheel-%: export PYTHONPATH = $(CURDIR)/build/compiled

.PHONY: fuzz-core
fuzz-core:
	$(call env,core) -m pytest -m hypothesis solver/tests $(PYTEST)
	$(call env,core) -m pytest solver/tests/core/test_any_solve.py $(PYTEST)

.PHONY: fuzz-newest
fuzz-newest:
	$(MAKE) --no-print-directory fuzz-wheel-$$($(PYTHON) tools/environment.py newest)

fuzz-wheel-%:
	$(call env,bpy-$*) -m pytest -s tests/blender/test_fuzz.py tests/blender/test_fuzz_settings.py $(PYTEST)

.PHONY: test-install
test-install: package $(WHEELS:%=test-install-%)  ## install the built zips in every supported Blender, and use them
	$(call find) && for package in dist/*.zip; do \
		rm -rf build/user && mkdir -p build/user && \
		BLENDER_USER_RESOURCES="$(CURDIR)/build/user" $(real) tests/install.py -- $$package \
		|| exit; \
	done

# The wheels have the operators of Install from Disk, and check the zips as Blender itself does.
test-install-%: package
	python=$$($(PYTHON) tools/environment.py bpy-$*) && for package in dist/*.zip; do \
		rm -rf build/user-$* && mkdir -p build/user-$* && \
		BLENDER_USER_RESOURCES="$(CURDIR)/build/user-$*" "$$python" tests/install.py -- $$package \
		|| exit; \
	done

.PHONY: test-ui
test-ui: package  ## drive the built zip in a real window on a virtual screen, with mouse and keys
	$(call env,core) -m pytest tests/ui $(parallel) $(PYTEST)

.PHONY: wheels
wheels:  ## build the wheels of the solver that this machine can build, compiled and not
	$(call env,core) tools/wheel.py

.PHONY: manual
manual:
	$(call env,manual) tools/manual.py

.PHONY: package
package: wheels manual  ## build and validate dist/fabrik_ik-….zip, for this platform and for any
	$(call env,bpy-$$($(PYTHON) tools/environment.py newest)) tools/package.py

.PHONY: samples
samples:  ## build the sample .blend files, with the oldest Blender, so that all can open them
	$(call env,bpy-4.2) samples/build.py

.PHONY: pictures
pictures: package  ## make the manual's pictures of the window, still and moving
	$(call env,core) tests/ui/screenshots.py
	$(call env,core) tests/ui/films.py

.PHONY: listing
listing:  ## draw the stills and the film for the extensions platform, from the samples
	export PYTHONPATH="$$($(PYTHON) tools/state.py)" && $(call env,bpy-$$($(PYTHON) tools/environment.py newest)) samples/listing.py

.PHONY: diagrams
diagrams:  ## draw the manual's diagrams from tools/diagrams
	$(PYTHON) tools/diagrams.py

.PHONY: translations
translations:  ## bring addon/translations up to date with the texts of the interface
	mkdir -p build
	$(call env,bpy-$$($(PYTHON) tools/environment.py newest)) -m tools.texts build/texts.json
	$(call env,tools) tools/translations.py build/texts.json $(LOCALES)

.PHONY: docs
docs: reference check-docs  ## build the manual as a site, in build/docs; a broken link fails
	$(call env,docs) -m zensical build --strict --clean

.PHONY: reference
reference:  ## write the manual's reference of properties and operators, from Blender's RNA
	$(call env,bpy-$$($(PYTHON) tools/environment.py newest)) tools/reference.py

.PHONY: check-docs
check-docs:
	$(call env,tools) tools/check_docs.py

.PHONY: check-release
check-release:
	$(call env,wheels) tools/check_release.py

.PHONY: lint
lint: check-docs check-release  ## check style, format, layers, the manual's links, and workflows
	$(call env,tools) -m ruff check .
	$(call env,tools) -m ruff format --check .
	$(call env,tools) tools/complexity.py
	$(call env,tools) -c "from importlinter.cli import lint_imports_command; lint_imports_command()"

.PHONY: type
type:  ## check types
	$(call env,tools) -m pyright

.PHONY: clean
clean:  ## remove what was built
	rm -rf build dist .cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

.PHONY: distclean
distclean: clean  ## remove the environments as well
	rm -rf .venv
