--- ecsser: worlds of entities that can be saved, restored and rolled back.
-- @module ecsser
return require "ecsser.core"
