// The interface of the module to its host: code goes into memory from allocate, check parses
// it, and findings hold what the parser reported. The module has no other state.
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tree_sitter/api.h>

#define EXPORT(name) __attribute__((export_name(#name)))
#define MAX_FINDINGS 64

enum kind { UNEXPECTED = 1, MISSING = 2, UNCLOSED_FENCE = 3, EMPTY_BLOCK = 4, OLD_STATEMENT = 5, INDENT = 6 };

// What inspect looks for beside errors.
enum extra { FENCES = 1, PYTHON = 2 };

// Offsets are bytes of the code. For MISSING, name is the token that the grammar expects.
struct finding {
  uint32_t kind, start, end;
  const char *name;
};

static struct finding found[MAX_FINDINGS];
static uint32_t found_count;

#define GRAMMAR(name) const TSLanguage *tree_sitter_##name(void);
#include "grammars.h"
#undef GRAMMAR

#define GRAMMAR(name) tree_sitter_##name,
static const TSLanguage *(*const grammars[])(void) = {
#include "grammars.h"
};
#undef GRAMMAR

EXPORT(allocate) void *allocate(uint32_t size) { return malloc(size); }

EXPORT(release) void release(void *memory) { free(memory); }

EXPORT(findings) struct finding *findings(void) { return found; }

static void add(enum kind kind, TSNode node) {
  if (found_count < MAX_FINDINGS) {
    found[found_count++] = (struct finding){kind, ts_node_start_byte(node), ts_node_end_byte(node), ts_node_type(node)};
  }
}

static TSParser *parser_for(uint32_t grammar) {
  TSParser *parser = ts_parser_new();
  if (grammar >= sizeof grammars / sizeof *grammars || !ts_parser_set_language(parser, grammars[grammar]())) {
    ts_parser_delete(parser);
    return NULL;
  }
  return parser;
}

// unclosed reports a fenced code block of Markdown that has no second delimiter.
static bool unclosed(TSNode node) {
  if (strcmp(ts_node_type(node), "fenced_code_block") != 0) return false;
  uint32_t delimiters = 0;
  for (uint32_t i = 0; i < ts_node_child_count(node); i++) {
    delimiters += strcmp(ts_node_type(ts_node_child(node, i)), "fenced_code_block_delimiter") == 0;
  }
  return delimiters == 1;
}

// indent reports the first statement of a block that begins a line at another column than the
// block's first statement.
static void indent(TSNode block) {
  TSTreeCursor cursor = ts_tree_cursor_new(block);
  TSNode before = block;
  bool first = true;
  uint32_t column = 0;
  for (bool more = ts_tree_cursor_goto_first_child(&cursor); more; more = ts_tree_cursor_goto_next_sibling(&cursor)) {
    TSNode node = ts_tree_cursor_current_node(&cursor);
    if (!ts_node_is_named(node) || ts_node_is_extra(node)) continue;
    TSPoint start = ts_node_start_point(node);
    if (first) {
      column = start.column;
      first = false;
    } else if (start.row > ts_node_end_point(before).row && start.column != column) {
      add(INDENT, node);
      break;
    }
    before = node;
  }
  ts_tree_cursor_delete(&cursor);
}

// python reports what its grammar accepts and Python 3 does not.
static void python(TSNode node) {
  const char *type = ts_node_type(node);
  if (strcmp(type, "block") == 0 && ts_node_named_child_count(node) == 0) add(EMPTY_BLOCK, node);
  if (strcmp(type, "block") == 0 || strcmp(type, "module") == 0) indent(node);
  if (strcmp(type, "print_statement") == 0 || strcmp(type, "exec_statement") == 0) add(OLD_STATEMENT, node);
}

// inspect records a node and returns whether its children may hold more findings.
static bool inspect(TSNode node, uint32_t extras) {
  if (ts_node_is_missing(node)) {
    add(MISSING, node);
    return false;
  }
  if (ts_node_is_error(node)) {
    add(UNEXPECTED, node);
    return false;
  }
  if (extras & FENCES && unclosed(node)) add(UNCLOSED_FENCE, node);
  if (extras & PYTHON) python(node);
  return extras || ts_node_has_error(node);
}

// walk visits the tree in order of the code. A cursor does not recurse, so nesting is harmless.
static void walk(TSNode root, uint32_t extras) {
  TSTreeCursor cursor = ts_tree_cursor_new(root);
  for (bool more = true; more && found_count < MAX_FINDINGS;) {
    if (inspect(ts_tree_cursor_current_node(&cursor), extras) && ts_tree_cursor_goto_first_child(&cursor)) continue;
    while (more && !ts_tree_cursor_goto_next_sibling(&cursor)) more = ts_tree_cursor_goto_parent(&cursor);
  }
  ts_tree_cursor_delete(&cursor);
}

// check parses code and returns the number of findings, or -1 if there is no such grammar.
EXPORT(check) int32_t check(uint32_t grammar, const char *code, uint32_t length, uint32_t extras) {
  found_count = 0;
  TSParser *parser = parser_for(grammar);
  if (!parser) return -1;
  TSTree *tree = ts_parser_parse_string(parser, NULL, code, length);
  if (tree) walk(ts_tree_root_node(tree), extras);
  ts_tree_delete(tree);
  ts_parser_delete(parser);
  return tree ? (int32_t)found_count : -1;
}

// trace follows the parser's log up to its first recovery.
static struct {
  uint32_t row, column;
  int64_t furthest;
  bool recovered;
} trace;

// trace_snprintf takes the place of snprintf in the core, whose only use for it here is the log: to
// write each line of it as text would take twenty times as long as the parse.
int trace_snprintf(char *buffer, size_t size, const char *format, ...) {
  if (size) *buffer = 0;
  if (trace.recovered) return 0;
  if (strncmp(format, "process version", 15) == 0) { // version, version_count, state, row, col
    va_list values;
    va_start(values, format);
    for (int i = 0; i < 3; i++) (void)va_arg(values, unsigned);
    trace.row = va_arg(values, unsigned);
    trace.column = va_arg(values, unsigned);
    va_end(values);
  } else if (strncmp(format, "detect_error", 12) == 0) {
    int64_t at = (int64_t)trace.row << 32 | trace.column;
    if (at > trace.furthest) trace.furthest = at;
  } else if (strncmp(format, "resume version", 14) == 0) {
    trace.recovered = true;
  }
  return 0;
}

static void ignore(void *payload, TSLogType type, const char *message) {
  (void)payload, (void)type, (void)message;
}

static bool stop_when_recovered(TSParseState *state) {
  (void)state;
  return trace.recovered;
}

struct text {
  const char *bytes;
  uint32_t length;
};

static const char *read_text(void *payload, uint32_t offset, TSPoint position, uint32_t *size) {
  (void)position;
  const struct text *text = payload;
  *size = offset < text->length ? text->length - offset : 0;
  return *size ? text->bytes + offset : "";
}

// first_error returns where no version of the parse could continue: the row in the upper and
// the column in the lower half, both from 0 and at the end of the last good token. It returns -1
// if the parser never recovered from an error. ERROR nodes often begin much earlier.
EXPORT(first_error) int64_t first_error(uint32_t grammar, const char *code, uint32_t length) {
  TSParser *parser = parser_for(grammar);
  if (!parser) return -1;
  trace.furthest = -1;
  trace.recovered = false;
  struct text text = {code, length};
  ts_parser_set_logger(parser, (TSLogger){NULL, ignore});
  TSTree *tree = ts_parser_parse_with_options(parser, NULL, (TSInput){&text, read_text, TSInputEncodingUTF8, NULL},
                                              (TSParseOptions){NULL, stop_when_recovered});
  ts_tree_delete(tree);
  ts_parser_delete(parser);
  return trace.recovered ? trace.furthest : -1;
}
