---@meta

-- luacheck: ignore

-- Types for editors that run the Lua language server, as in ecsser/types.lua, for ecsser.schedule.
-- What the functions do is said there.

---@class ecsser.Phase
---@field name string
---@field dependsOn ecsser.Phase[]
---@field before ecsser.Phase[]
---@field manual boolean

---@class ecsser.Set
---@field name string
---@field before ecsser.Set[]
---@field after ecsser.Set[]
---@field runIf? fun(world: ecsser.World): boolean

---@class ecsser.System
---@field name string
---@field run fun(world: ecsser.World, dt: number)
---@field phase ecsser.Phase
---@field before (ecsser.System|ecsser.Set)[]
---@field after (ecsser.System|ecsser.Set)[]
---@field sets ecsser.Set[]
---@field runIf? fun(world: ecsser.World): boolean

---@class ecsser.Plugin
---@field name string
---@field phases ecsser.Phase[]
---@field sets ecsser.Set[]
---@field systems ecsser.System[]

---@class ecsser.PhaseOptions
---@field dependsOn? ecsser.Phase[]
---@field before? ecsser.Phase[]
---@field manual? boolean

---@class ecsser.SetOptions
---@field before? ecsser.Set[]
---@field after? ecsser.Set[]
---@field runIf? fun(world: ecsser.World): boolean

---@class ecsser.SystemOptions
---@field name string
---@field run fun(world: ecsser.World, dt: number)
---@field phase? ecsser.Phase OnUpdate by default
---@field before? (ecsser.System|ecsser.Set)[]
---@field after? (ecsser.System|ecsser.Set)[]
---@field sets? ecsser.Set[]
---@field runIf? fun(world: ecsser.World): boolean

---@class ecsser.PluginOptions
---@field name string
---@field phases? ecsser.Phase[]
---@field sets? ecsser.Set[]
---@field systems? ecsser.System[]

---One table that is used again: a hook copies what it keeps.
---@class ecsser.HookContext
---@field schedule ecsser.Schedule
---@field world ecsser.World
---@field system ecsser.System
---@field phase ecsser.Phase
---@field dt number

---@class ecsser.ScheduleHooks
---@field beforeSystem? fun(ctx: ecsser.HookContext)
---@field afterSystem? fun(ctx: ecsser.HookContext)
---@field onSkip? fun(ctx: ecsser.HookContext, reason: "disabled"|"condition")

---@class ecsser.ScheduleOptions
---@field name string unique among the schedules of a world
---@field plugins? ecsser.Plugin[]
---@field phases? ecsser.Phase[]
---@field sets? ecsser.Set[]
---@field systems? ecsser.System[]
---@field hooks? ecsser.ScheduleHooks

---@class ecsser.Schedule
---@field name string
---@field state ecsser.Trait world-level: { name, disabled, onStartDone }
---@field phases ecsser.Phase[]
---@field systems ecsser.System[]
local Schedule = {}

---Runs the automatic phases.
---@param world ecsser.World
---@param dt number seconds, finite, at least 0
function Schedule:run(world, dt) end

---Runs one phase.
---@param world ecsser.World
---@param phase ecsser.Phase
---@param dt number
function Schedule:runPhase(world, phase, dt) end

---Runs the phases from one to another.
---@param world ecsser.World
---@param from ecsser.Phase
---@param to ecsser.Phase
---@param dt number
function Schedule:runPhases(world, from, to, dt) end

---@param world ecsser.World
---@param system ecsser.System
function Schedule:enable(world, system) end

---@param world ecsser.World
---@param system ecsser.System
function Schedule:disable(world, system) end

---@param world ecsser.World
---@param system ecsser.System
---@return boolean
function Schedule:isEnabled(world, system) end

---The systems of a phase, in the order in which they run.
---@param phase ecsser.Phase
---@return ecsser.System[]
function Schedule:systemsOf(phase) end

---Whether `run` leaves the phase out.
---@param phase ecsser.Phase
---@return boolean
function Schedule:isManual(phase) end

---@class ecsser.schedule
---@field OnStart ecsser.Phase once per world
---@field OnLoad ecsser.Phase
---@field PostLoad ecsser.Phase
---@field PreUpdate ecsser.Phase
---@field OnUpdate ecsser.Phase where a system goes that names no phase
---@field OnValidate ecsser.Phase
---@field PostUpdate ecsser.Phase
---@field PreStore ecsser.Phase
---@field OnStore ecsser.Phase
local schedule = {}

---@param name string
---@param options? ecsser.PhaseOptions
---@return ecsser.Phase
function schedule.definePhase(name, options) end

---@param options ecsser.SystemOptions
---@return ecsser.System
function schedule.defineSystem(options) end

---@param name string
---@param options? ecsser.SetOptions
---@return ecsser.Set
function schedule.defineSet(name, options) end

---@param options ecsser.PluginOptions
---@return ecsser.Plugin
function schedule.definePlugin(options) end

---@param options ecsser.ScheduleOptions
---@return ecsser.Schedule
function schedule.createSchedule(options) end
