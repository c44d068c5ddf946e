package stampgate_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	stampgate "stampgate.dev/client"
)

// savedIn returns a FileCursor in a new folder that has saved "old".
func savedIn(t *testing.T) stampgate.FileCursor {
	t.Helper()
	store := stampgate.FileCursor(filepath.Join(t.TempDir(), "cursor"))
	if err := store.Save("old"); err != nil {
		t.Fatal(err)
	}
	return store
}

func TestACursorReplacesTheOldOneOnlyAfterItIsOnTheDisk(t *testing.T) {
	store := savedIn(t)
	// The kernel cannot sync this device, but writes to it succeed.
	if err := os.Symlink("/dev/null", string(store)+".new"); err != nil {
		t.Fatal(err)
	}
	if err := store.Save("new"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("got %v", err)
	}
	cursor, err := store.Load()
	checkEqual(t, cursor, "old")
	checkEqual(t, err, nil)
}

func TestASaveEndsOnlyAfterTheNewNameIsOnTheDisk(t *testing.T) {
	store := savedIn(t)
	folder := filepath.Dir(string(store))
	above := filepath.Dir(folder)
	if err := errors.Join(os.Chmod(above, 0o711), os.Chmod(folder, 0o333)); err != nil {
		t.Fatal(err)
	}
	// Files can be renamed in the folder, but only root can open the folder to sync it. The thread ends with its user.
	failed := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			failed <- err
			return
		}
		failed <- store.Save("new")
	}()
	if err := <-failed; !errors.Is(err, os.ErrPermission) {
		t.Errorf("got %v", err)
	}
	cursor, err := store.Load()
	checkEqual(t, cursor, "new")
	checkEqual(t, err, nil)
}
