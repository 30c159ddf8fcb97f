package sqlfuncs

var (
	pKey  = Param{Name: "key", Type: Text}
	pTask = Param{Name: "task_id", Type: BigInt}
)

// semaphores lists the calls of the task semaphore.
var semaphores = []*Func{
	{Name: "semaphore_get_or_create", Params: []Param{pKey}, Result: Semaphore, Effect: Writes},
	{
		Name: "semaphore_update", Result: Void, Effect: Writes, Signals: true,
		Params: []Param{pKey, {Name: "active", Type: Integer}, {Name: "try_release", Type: Integer}},
	},
	{
		Name: "semaphore_enqueue", Result: Void, Effect: Writes, Signals: true,
		Params: []Param{pKey, pTask, {Name: "priority", Type: Double}},
	},
	{Name: "semaphore_release", Params: []Param{pKey, pTask}, Result: Void, Effect: Writes, Signals: true},
}
