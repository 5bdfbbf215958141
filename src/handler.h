/*
** handler.h - subsystems that add their own data to a world's snapshots.
**
** Handlers are told in the order in which they were added. Their data lie in
** the snapshot under their name, beside the custom data of saveSnapshot.
*/
#ifndef ES_HANDLER_H
#define ES_HANDLER_H

#include "world.h"

/* ecs.addSnapshotHandler(world, { name=, save=, load=, finish= }) */
int es_handler_lua_add(lua_State *L);

/*
** Pushes the table of all data: a copy of the custom data at 'data' (0: none)
** and what each handler's save returns. Raises. [-0, +1]
*/
void es_handler_save_all(const es_Op *op, int ctx, int data);

/*
** Calls each handler's load with its value in the table at 'data' (nil when
** there is none), and takes that value out of it. Returns a status; an error
** is pushed.
*/
int es_handler_load_all(const es_Op *op, int ctx, int data);

/* Calls each handler's finish with the header at 'header'. */
int es_handler_finish_all(const es_Op *op, int header);

#endif
