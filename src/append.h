/*
** append.h - a snapshot's entities added to a world that is in use.
**
** New entities come in the order of their saved slots; references among them
** follow. World-level traits of the snapshot are left out. Nothing else in
** the world changes, and a failure takes everything back.
*/
#ifndef ES_APPEND_H
#define ES_APPEND_H

#include "image.h"
#include "luadoc.h"
#include "world.h"

/*
** Appends the image with the options in the table at 'options' (0 or nil:
** none) and pushes the list of new entities. [-0, +1]
*/
void es_append_image(const es_Op *op, const es_Image *image, int options);

/* ecs.appendSnapshot(world, bytes, options) */
int es_append_lua(lua_State *L);

#endif
