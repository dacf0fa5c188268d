module example.com/gateway/clitape

go 1.19
