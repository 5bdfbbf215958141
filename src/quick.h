/*
** quick.h - a text as saveJSON writes it, straight into columns.
**
** The general way to restore reads a document, checks it, and takes step by
** step what it says. Most texts are as a world like this one wrote them, and
** nobody watches: then names and brackets are the phrases that a save would
** tell (wording.h), and values go from the text into new columns at once.
** Whatever is different, and every fault, is left to the general way: it
** decides what the text means, and how a fault is told.
*/
#ifndef ES_QUICK_H
#define ES_QUICK_H

#include "world.h"

/*
** Restores the text into a world that was found to be fresh, and pushes
** { entities = {...} }; or returns 0 and has changed nothing. Raises for full
** memory, and then has changed nothing either. [-0, +1 or +0]
*/
int es_quick_restore(const es_Op *op, const char *text, size_t n);

#endif
