/*
** restore.h - from a plan to a world, all or nothing.
**
** Everything is checked and all room is made before the first change. The
** changes run protected; when a codec or an observer raises, or memory is
** full, they are taken back, which allocates nothing.
*/
#ifndef ES_RESTORE_H
#define ES_RESTORE_H

#include "document.h"
#include "world.h"

/*
** Restores a document into a fresh world and pushes { entities = {...} }.
** It was read from 'length' bytes of 'text', or from no text (NULL). [-0, +1]
*/
void es_restore_document(const es_Op *op, const es_Document *doc,
                         const char *text, size_t length);

/*
** Raises world-not-empty unless the world has no entity that would be saved
** and no registered trait of its own.
*/
void es_restore_check_fresh(const es_Op *op);

/*
** Reads the Lua value at 'idx' into a guarded document, which it pushes; or
** pushes nil and the error and returns NULL. [-0, +n]
*/
const es_Document *es_restore_read_table(const es_Op *op, int idx);

/* ecs.restoreWorld */
int es_restore_lua_world(lua_State *L);

#endif
