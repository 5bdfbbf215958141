/*
** harness_alloc.c - what happens when memory runs out, at every allocation.
**
** Each scenario (harness_*.lua) sets up a state with unlimited memory; then
** its act runs again and again, with the allocator failing at its 1st, 2nd,
** 3rd ... request, until it runs without a failure. After each run that
** failed the error must be Lua's for full memory, everything a script can
** learn must be as before, the parts of the world must agree, and the act
** must succeed when it is tried again. At the end every block is free.
**
** harness_alloc [-v] [text]: only the scenarios whose name has the text
*/
#include "harness_check.h"

#include <lualib.h>

int luaopen_ecsser_core(lua_State *L);

/* ---- an allocator that fails on request ---------------------------------- */

typedef struct Heap {
  size_t blocks, bytes;   /* live ones */
  size_t requests;        /* for more memory, while armed */
  size_t first, last;     /* these requests fail */
  size_t failures;
  size_t wrong;           /* calls with a wrong old size */
  int armed;
} Heap;

typedef union Header {
  size_t size;
  max_align_t align;
} Header;

static int refuses(Heap *h) {
  if (!h->armed) return 0;
  h->requests++;
  if (h->requests < h->first || h->requests > h->last) return 0;
  h->failures++;
  return 1;
}

/* Freed memory is overwritten, so that using it shows without tools too. */
static void give_back(Heap *h, Header *block) {
  size_t size = block->size;
  h->blocks--;
  h->bytes -= size;
  memset(block, 0xDD, sizeof *block + size);
  free(block);
}

/* A lua_Alloc. Blocks always move; only a request for more can fail. */
static void *heap_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
  Heap *h = ud;
  Header *old = ptr == NULL ? NULL : (Header *)ptr - 1, *block = NULL;
  if (old == NULL) osize = 0;
  else if (old->size != osize) h->wrong++;
  if (nsize > osize && refuses(h)) return NULL;
  if (nsize > 0) {
    block = malloc(sizeof *block + nsize);
    if (block == NULL) abort();
    block->size = nsize;
    h->blocks++;
    h->bytes += nsize;
    if (old != NULL) memcpy(block + 1, ptr, osize < nsize ? osize : nsize);
  }
  if (old != NULL) give_back(h, old);
  return block == NULL ? NULL : block + 1;
}

/* ---- the scenario files, compiled once ----------------------------------- */

static const char *const files[] = {"harness_kit.lua", "harness_world.lua",
                                    "harness_events.lua",
                                    "harness_serialize.lua",
                                    "harness_snapshot.lua"};
enum { FILES = sizeof files / sizeof files[0] };

typedef struct Program {
  Text chunks[FILES];   /* binary */
  const char *only;     /* part of a scenario's name, or NULL */
  int verbose;
  unsigned long passed, failed;
} Program;

static int write_chunk(lua_State *L, const void *p, size_t n, void *ud) {
  Text *t = ud;
  (void)L;
  t->data = realloc(t->data, t->len + n);
  if (t->data == NULL) abort();
  memcpy(t->data + t->len, p, n);
  t->len += n;
  return 0;
}

/* The files lie where this one lies. */
static void compile(Program *p) {
  lua_State *L = luaL_newstate();
  const char *slash = strrchr(__FILE__, '/');
  int dir = slash == NULL ? 0 : (int)(slash - __FILE__) + 1, i;
  char path[1024];
  if (L == NULL) abort();
  for (i = 0; i < FILES; i++) {
    snprintf(path, sizeof path, "%.*s%s", dir, __FILE__, files[i]);
    if (luaL_loadfile(L, path) != LUA_OK) {
      printf("%s\n0 passed, 1 failed\n", lua_tostring(L, -1));
      exit(EXIT_FAILURE);
    }
    lua_dump(L, write_chunk, &p->chunks[i], 0);
  }
  lua_close(L);
}

/* ---- one run ------------------------------------------------------------ */

/* How memory fails, from the request in question on. */
typedef struct Mode {
  const char *name;
  size_t requests;   /* so many in a row; 0: all that follow */
  int busy;          /* the collector works all the time */
} Mode;

/* A request is repeated once after a collection, so that one is harmless. */
static const Mode modes[] = {{"all", 0, 0},
                             {"two", 2, 0},
                             {"one", 1, 0},
                             {"busy", 0, 1}};
enum { MODES = sizeof modes / sizeof modes[0], SHOWN_FAULTS = 3 };

typedef struct Scenario {
  Program *program;
  int file, index;    /* the index-th scenario of the file */
  char name[80];
  int undo;           /* observers made it change things and undo them */
  int complete;       /* what fails late, fails after the change */
  int garbage;        /* there is garbage when the act begins */
  int loose;          /* finalizers change the world at any time */
  int sides;          /* a failure may leave things behind that do no harm */
  Text before, after, results;
  lua_Integer kept;
  unsigned long points[MODES], faults;
} Scenario;

typedef struct Run {
  Scenario *s;
  Heap heap;
  lua_State *L;
  const Mode *mode;
  size_t k;
  unsigned long faults;
} Run;

/* Stack of a run: kit, scenario, state; then the results of the act. */
enum { KIT = 1, SCENARIO, STATE };

static void fault(Run *r, const char *what, const char *detail) {
  if (r->faults++ > 0 || r->s->faults++ >= SHOWN_FAULTS) return;
  printf("FAILED %s, %s from %zu: %s: %.1500s\n", r->s->name, r->mode->name,
         r->k, what, detail);
}

/* A scenario that cannot be set up ends everything. */
static int at_panic(lua_State *L) {
  printf("panic: %s\n", luaL_tolstring(L, -1, NULL));
  fflush(stdout);
  return 0;
}

static int lua_open_core(lua_State *L) {
  luaL_requiref(L, "ecsser.core", luaopen_ecsser_core, 0);
  return 1;
}

/*
** The library makes the metatable of its buffers when it needs it first. One
** that memory fails in the middle of stays behind without its methods, and
** leaks from then on; so it is made here.
*/
static void make_box(lua_State *L) {
  luaL_Buffer b;
  luaL_buffinitsize(L, &b, 10 * (size_t)LUAL_BUFFERSIZE);
  luaL_pushresultsize(&b, 0);
}

static void open_libraries(lua_State *L) {
  make_box(L);
  luaL_requiref(L, "_G", luaopen_base, 1);
  luaL_requiref(L, "table", luaopen_table, 1);
  luaL_requiref(L, "string", luaopen_string, 1);
  luaL_requiref(L, "math", luaopen_math, 1);
  luaL_requiref(L, "coroutine", luaopen_coroutine, 1);
  lua_settop(L, 0);
}

static void run_chunk(Run *r, int file) {
  const Text *chunk = &r->s->program->chunks[file];
  lua_State *L = r->L;
  if (luaL_loadbufferx(L, chunk->data, chunk->len, files[file], "b"))
    abort();
  lua_insert(L, -2);
  lua_call(L, 1, 1);
}

/* Pushes the kit and the list of scenarios of a file. */
static void push_scenarios(Run *r, int file) {
  static const luaL_Reg inside[] = {{"open", lua_open_core},
                                    {"check", lua_check},
                                    {"core", lua_core},
                                    {"anchors", lua_anchors},
                                    {NULL, NULL}};
  luaL_newlib(r->L, inside);
  run_chunk(r, 0);
  lua_pushvalue(r->L, -1);
  run_chunk(r, file);
}

static void open_run(Run *r, Scenario *s, const Mode *mode, size_t k) {
  memset(r, 0, sizeof *r);
  r->s = s;
  r->mode = mode;
  r->k = k;
  r->L = lua_newstate(heap_alloc, &r->heap);
  if (r->L == NULL) abort();
  lua_atpanic(r->L, at_panic);
  open_libraries(r->L);
}

/*
** Until the act: its state is set up, with all the memory it wants. What
** setting up has left is collected, so that finalizers that are due do not
** run without memory: Lua forgets those that it cannot even call.
*/
static void begin(Run *r, Scenario *s, const Mode *mode, size_t k) {
  open_run(r, s, mode, k);
  push_scenarios(r, s->file);
  lua_rawgeti(r->L, -1, s->index);
  lua_replace(r->L, SCENARIO);
  lua_getfield(r->L, SCENARIO, "setup");
  lua_call(r->L, 0, 1);
  if (!s->garbage) lua_gc(r->L, LUA_GCCOLLECT, 0);
}

/* The act; its results or its error stay on the stack. */
static int act(Run *r, int armed) {
  int status;
  lua_settop(r->L, STATE);
  lua_getfield(r->L, SCENARIO, "act");
  lua_pushvalue(r->L, STATE);
  if (armed && r->mode->busy) lua_gc(r->L, LUA_GCINC, 1, 1000, 1);
  r->heap.requests = 0;
  r->heap.failures = 0;
  r->heap.first = r->k;
  r->heap.last = r->mode->requests - 1;
  if (r->heap.last != SIZE_MAX) r->heap.last += r->k;
  r->heap.armed = armed;
  status = lua_pcall(r->L, 1, LUA_MULTRET, 0);
  r->heap.armed = 0;
  if (armed && r->mode->busy) lua_gc(r->L, LUA_GCINC, 200, 100, 13);
  return status;
}

/* Calls a function of the kit: name(state or nothing, flag, results...). */
static const char *ask(Run *r, const char *name, int state, int flag,
                       int results) {
  lua_State *L = r->L;
  int top = lua_gettop(L), i;
  luaL_checkstack(L, results + LUA_MINSTACK, name);
  lua_getfield(L, KIT, name);
  if (state) lua_pushvalue(L, STATE);
  lua_pushboolean(L, flag);
  for (i = 0; i < results; i++) lua_pushvalue(L, STATE + 1 + i);
  if (lua_pcall(L, lua_gettop(L) - top - 1, 1, 0) != LUA_OK)
    fault(r, name, luaL_tolstring(L, -1, NULL));
  return luaL_tolstring(L, -1, NULL);
}

/* What is to be as before: all, or what the scenario has a function for. */
static const char *digest(Run *r) {
  lua_State *L = r->L;
  if (r->s->loose) return "";
  if (lua_getfield(L, SCENARIO, "tell") == LUA_TNIL) {
    lua_pop(L, 1);
    return ask(r, "digest", 1, !r->s->undo, 0);
  }
  lua_pushvalue(L, STATE);
  lua_call(L, 1, 1);
  return luaL_tolstring(L, -1, NULL);
}

static lua_Integer kept(Run *r) {
  lua_Integer n;
  ask(r, "kept", 1, 0, 0);
  n = lua_tointeger(r->L, -1);
  lua_pop(r->L, 2);
  return n;
}

static void keep(Text *t, const char *text) {
  t->len = strlen(text);
  t->data = malloc(t->len + 1);
  if (t->data == NULL) abort();
  memcpy(t->data, text, t->len + 1);
}

/* Reports the first line that differs. */
static void compare(Run *r, const char *what, const char *got,
                    const Text *want) {
  const char *a = got, *b = want->data;
  char detail[1000];
  if (strcmp(a, b) == 0) return;
  while (*a == *b) a++, b++;
  while (a > got && a[-1] != '\n') a--, b--;
  snprintf(detail, sizeof detail, "\n  now:  %.*s\n  want: %.*s",
           (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b);
  fault(r, what, detail);
}

static void check_inside(Run *r, const char *when, int garbage) {
  const char *faults = ask(r, "faults", 1, garbage, 0);
  if (faults[0] != '\0') fault(r, when, faults);
  lua_pop(r->L, 2);
}

/* The act has succeeded. */
static void check_success(Run *r, const char *when) {
  int results = lua_gettop(r->L) - STATE;
  check_inside(r, when, 1);
  if (r->s->loose) return;
  compare(r, when, ask(r, "results", 0, !r->s->undo, results),
          &r->s->results);
  lua_settop(r->L, STATE);
  if (r->k % 3 != 0) return;   /* what follows takes the most time */
  compare(r, when, digest(r), &r->s->after);
  lua_settop(r->L, STATE);
  if (!r->s->sides && kept(r) > r->s->kept)
    fault(r, when, "the world keeps more alive than it needs");
}

/* Where there is no memory for a larger stack, luaL_checkstack says so. */
static int is_memory_error(lua_State *L, int status) {
  static const char *const known[] = {"not enough memory", "stack overflow (",
                                      "too many results to unpack"};
  const char *message = lua_tostring(L, -1);
  size_t i;
  int found = status == LUA_ERRMEM;
  for (i = 0; i < sizeof known / sizeof known[0] && message != NULL; i++)
    found |= strstr(message, known[i]) != NULL;
  return found;
}

/* The act has failed. True when it is to be tried again. */
static int check_failure(Run *r, int status) {
  const char *now;
  if (!r->s->loose && !is_memory_error(r->L, status))
    fault(r, "not the error of full memory", luaL_tolstring(r->L, -1, NULL));
  lua_settop(r->L, STATE);
  lua_gc(r->L, LUA_GCCOLLECT, 0);   /* what is used must be anchored */
  check_inside(r, "inside, after the failure", 1);
  if (r->s->loose) return 0;
  now = digest(r);
  if (r->s->complete && strcmp(now, r->s->after.data) == 0) return 0;
  compare(r, "not as before", now, &r->s->before);
  return 1;
}

static void finish(Run *r) {
  char detail[80];
  lua_close(r->L);
  snprintf(detail, sizeof detail, "%zu blocks, %zu bytes", r->heap.blocks,
           r->heap.bytes);
  if (r->heap.blocks > 0) fault(r, "a leak", detail);
  if (r->heap.wrong > 0) fault(r, "a wrong old size", "");
}

/* One point: memory fails at the k-th request. False: it did not. */
static int point(Scenario *s, const Mode *mode, size_t k) {
  Run r;
  int status;
  size_t failures;
  begin(&r, s, mode, k);
  status = act(&r, 1);
  failures = r.heap.failures;
  if (status == LUA_OK) {
    check_success(&r, "after a failure that did no harm");
  } else if (failures == 0 && !s->loose) {
    fault(&r, "failed without a cause", luaL_tolstring(r.L, -1, NULL));
  } else if (check_failure(&r, status)) {
    if (act(&r, 0) == LUA_OK)
      check_success(&r, "tried again");
    else
      fault(&r, "tried again", luaL_tolstring(r.L, -1, NULL));
  }
  finish(&r);
  if (failures == 0 && r.faults == 0) return 0;
  if (r.faults > 0) s->program->failed++;
  else s->program->passed++;
  return failures > 0;
}

/* ---- scenarios ---------------------------------------------------------- */

/* The act with all the memory it wants. */
static void act_well(Run *r) {
  if (act(r, 0) != LUA_OK && !r->s->loose)
    fault(r, "fails with memory, too", luaL_tolstring(r->L, -1, NULL));
  check_inside(r, "inside, with memory", r->s->loose);
}

/* What the state is before the act, and what it keeps in the end. */
static void measure_before(Scenario *s) {
  Run r;
  begin(&r, s, &modes[0], 0);
  keep(&s->before, digest(&r));
  act_well(&r);
  lua_settop(r.L, STATE);
  digest(&r);
  s->kept = kept(&r);
  finish(&r);
  if (r.faults > 0) s->program->failed++;
}

/* What the act does; nobody has looked before. */
static void measure_after(Scenario *s) {
  Run r;
  begin(&r, s, &modes[0], 0);
  act_well(&r);
  keep(&s->results, ask(&r, "results", 0, !s->undo,
                        lua_gettop(r.L) - STATE));
  lua_settop(r.L, STATE);
  keep(&s->after, digest(&r));
  finish(&r);
  if (r.faults > 0) s->program->failed++;
}

/* The first way to fail visits every point, the others 15 or more. */
static void run_scenario(Scenario *s, unsigned long *points) {
  int m;
  measure_before(s);
  measure_after(s);
  printf("%s:", s->name);
  fflush(stdout);
  for (m = 0; m < MODES; m++) {
    size_t k = 1, step = m == 0 ? 1 : 1 + s->points[0] / 30;
    for (; point(s, &modes[m], k); k += step) {
      s->points[m]++;
      if (s->program->verbose) printf(" %s:%zu", modes[m].name, k);
      fflush(stdout);
    }
    points[m] += s->points[m];
  }
  printf(" %lu points (%lu two, %lu one, %lu busy)\n", s->points[0],
         s->points[1], s->points[2], s->points[3]);
  free(s->before.data);
  free(s->after.data);
  free(s->results.data);
}

static int flag(lua_State *L, const char *name) {
  int is;
  lua_getfield(L, -1, name);
  is = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is;
}

/* Reads name and flags. False: there are no more in the file. */
static int find_scenario(Scenario *s, Program *p, int file, int index) {
  Run r;
  int found;
  memset(s, 0, sizeof *s);
  s->program = p;
  s->file = file;
  s->index = index;
  open_run(&r, s, &modes[0], 0);
  push_scenarios(&r, file);
  found = lua_rawgeti(r.L, -1, index) == LUA_TTABLE;
  if (found) {
    s->undo = flag(r.L, "undo");
    s->complete = flag(r.L, "complete");
    s->garbage = flag(r.L, "garbage");
    s->loose = flag(r.L, "loose");
    s->sides = flag(r.L, "sides");
    lua_getfield(r.L, -1, "name");
    snprintf(s->name, sizeof s->name, "%s", lua_tostring(r.L, -1));
  }
  lua_close(r.L);
  return found;
}

int main(int argc, char **argv) {
  Program p;
  Scenario s;
  unsigned long scenarios = 0, points[MODES] = {0};
  int file, index, i;
  memset(&p, 0, sizeof p);
  for (i = 1; i < argc; i++) {
    if (strcmp(argv[i], "-v") == 0) p.verbose = 1;
    else p.only = argv[i];
  }
  compile(&p);
  for (file = 1; file < FILES; file++)
    for (index = 1; find_scenario(&s, &p, file, index); index++) {
      if (p.only != NULL && strstr(s.name, p.only) == NULL) continue;
      scenarios++;
      run_scenario(&s, points);
    }
  for (i = 0; i < MODES; i++)
    printf("%s: %lu points\n", modes[i].name, points[i]);
  if (p.only == NULL && (scenarios < 25 || points[0] < 5000)) {
    printf("FAILED: these are too few, for %lu scenarios\n", scenarios);
    p.failed++;
  }
  for (i = 0; i < FILES; i++) free(p.chunks[i].data);
  printf("%lu passed, %lu failed\n", p.passed, p.failed);
  return p.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
