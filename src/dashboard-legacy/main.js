document.documentElement.dataset.ready = '';
